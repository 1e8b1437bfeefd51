# The tables above come from schema/; this part is src/gen/complete.zsh.

(( $+functions[_procpen_hosts] )) ||
_procpen_hosts() {
	local -a hosts
	local line

	for line in ${(f)"$(_call_program hosts ${(q)_procpen_called} setup 2>/dev/null)"}; do
		[[ $line == '  '* ]] && hosts+=("${${=line}[1]}:${${(j: :)${${=line}[2,-1]}}//:/\\:}")
	done
	_describe -t hosts host hosts
}

(( $+functions[_procpen_variables] )) ||
_procpen_variables() {
	if compset -P '*='; then
		_default
	else
		_parameters -g '*export*' -q -S =
	fi
}

(( $+functions[_procpen_settings] )) ||
_procpen_settings() {
	local -a keys values

	if compset -P '*='; then
		values=($(_procpen_values ${${IPREFIX%=}##*=}))
		compadd -a values
	else
		keys=(${(f)"$(_procpen_keys)"})
		_describe -t keys key keys -q -S =
	fi
}

(( $+functions[_procpen_topics] )) ||
_procpen_topics() {
	local -a topics

	topics=(${(f)"$(_procpen_commands)"} 'options:The keys of --set')
	_describe -t commands command topics
}

_procpen() {
	local curcontext=$curcontext _procpen_called=$words[1] state
	local -a names # "commands" would hide the table of programs from what is called here

	if [[ $words[2] == -* ]]; then
		_procpen_arguments serve
		return
	fi
	_arguments -C '1: :->command' '*:: :->rest' && return
	case $state in
	command)
		names=(${(f)"$(_procpen_commands)"})
		_describe -t commands command names
		;;
	rest)
		curcontext=${curcontext%:*}-$words[1]:
		_procpen_arguments $words[1]
		;;
	esac
}

_procpen "$@"
