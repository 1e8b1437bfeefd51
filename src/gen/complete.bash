# The tables above come from schema/; this part is src/gen/complete.bash. For bash 4 and later. What
# follows the program of `procpen run` is left to bash-completion where that is loaded.

# Candidates for the value $2, which is of the kind $1; $3 is how procpen was called.
_procpen_complete_value()
{
	local key=${2%%=*} name title

	case $1 in
	dir) mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
	file) mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
	user) mapfile -t COMPREPLY < <(compgen -u -- "$2") ;;
	method) mapfile -t COMPREPLY < <(compgen -W "$_procpen_methods" -- "$2") ;;
	"choice "* | "engine "*) mapfile -t COMPREPLY < <(compgen -W "${1#* }" -- "$2") ;;
	command) mapfile -t COMPREPLY < <(compgen -W "$_procpen_commands options" -- "$2") ;;
	host)
		while read -r name title; do
			[[ $title && $name == "$2"* ]] && COMPREPLY+=("$name")
		done < <("$3" setup 2>/dev/null)
		;;
	variable)
		[[ $2 == *=* ]] || mapfile -t COMPREPLY < <(compgen -e -S = -- "$2")
		;;
	setting)
		if [[ $2 == *=* ]]; then
			mapfile -t COMPREPLY < <(compgen -P "$key=" -W "$(_procpen_values "$key")" -- "${2#*=}")
		else
			mapfile -t COMPREPLY < <(compgen -S = -W "$_procpen_keys" -- "$2")
		fi
		;;
	esac
	case $1 in
	dir | file) compopt -o filenames 2>/dev/null ;;
	variable | setting) [[ $2 == *=* ]] || compopt -o nospace 2>/dev/null ;;
	"engine "*) compopt -o nospace 2>/dev/null ;;
	esac
}

# The program of `procpen run`, which is word $1, and its arguments.
_procpen_complete_program()
{
	local word=${COMP_WORDS[COMP_CWORD]}

	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)) && [[ $word != */* ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		compopt -o filenames 2>/dev/null
	fi
}

# Readline ends a word at = and at colons: put the words together into words, at is where each begins.
_procpen_join_words()
{
	local i word joined=

	for ((i = 1; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ ${#words[@]} -gt 0 && ($joined || $word == [=:]*) ]]; then
			words[-1]+=$word
		else
			words+=("$word")
			at+=("$i")
		fi
		joined=
		[[ $word == *[=:] ]] && joined=1
	done
}

_procpen()
{
	local command='' kind='' option='' operands=0 ended='' breaks i word
	local -a words=() at=()

	COMPREPLY=()
	_procpen_join_words
	for ((i = 0; i < ${#words[@]} - 1; i++)); do
		word=${words[i]}
		if [[ $kind ]]; then
			kind=
		elif [[ ! $ended && $word == -- ]]; then
			ended=1
		elif [[ ! $ended && $word == -?* ]]; then
			command=${command:-serve}
			[[ $word == *=* ]] || kind=$(_procpen_kind "$word")
		elif [[ ! $command ]]; then
			command=$word
		elif [[ $(_procpen_operand "$command:0") == program ]]; then
			_procpen_complete_program "${at[i]}"
			return
		else
			operands=$((operands + 1))
			[[ $_procpen_starters == *" $command "* ]] && ended=1
		fi
	done

	word=${words[i]}
	if [[ ! $kind && ! $ended && $word == --*=* ]]; then
		option=${word%%=*}=
		_procpen_complete_value "$(_procpen_kind "${word%%=*}")" "${word#*=}" "$1"
	elif [[ $kind ]]; then
		_procpen_complete_value "$kind" "$word" "$1"
	elif [[ ! $ended && $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_procpen_options "${command:-serve}")" -- "$word")
	elif [[ ! $command ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$_procpen_commands" -- "$word")
	elif [[ $(_procpen_operand "$command:0") == program ]]; then
		_procpen_complete_program "${at[i]}"
		return
	else
		_procpen_complete_value "$(_procpen_operand "$command:$operands")" "$word" "$1"
	fi
	# Readline replaces only what stands behind the last of them.
	COMPREPLY=("${COMPREPLY[@]/#/$option}")
	breaks=${COMP_WORDBREAKS//[^=:]/}
	if [[ $breaks ]]; then
		COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*["$breaks"]}"}"}")
	fi
}

complete -F _procpen procpen
