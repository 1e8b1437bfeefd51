# The tables above come from schema/; this part is src/gen/complete.fish.

# The words before the cursor that are neither options nor their values: the command, what follows.
# After the program of `procpen run` nothing is an option.
function __procpen_words
    set -l found
    set -l value no
    set -l ended no
    for word in (commandline -opc)[2..-1]
        if test $value = yes
            set value no
        else if test $ended = no; and test "$word" = --
            set ended yes
        else if test $ended = no; and string match -qr -- '^-.' "$word"
            test (count $found) -gt 0; or set found serve
            contains -- "$word" $__procpen_valued; and set value yes
        else
            set -a found $word
            contains -- "$found[1]" $__procpen_starters; and test (count $found) -gt 1; and set ended yes
        end
    end
    string join \n -- $found
    test $ended = no
end

# Is the command $argv[1], and may one of its options follow? Without a command it is serve.
function __procpen_option_of
    set -l found (__procpen_words)
    or return 1
    test "$found[1]" = $argv[1]; or test (count $found) -eq 0 -a $argv[1] = serve
end

# Are there $argv[1] words, the first of them the command $argv[2]?
function __procpen_words_are
    set -l found (__procpen_words)
    test (count $found) -eq $argv[1]; and test "$found[1]" = "$argv[2]"
end

# Is the command $argv[1]?
function __procpen_starts
    set -l found (__procpen_words)
    test "$found[1]" = $argv[1]
end

# What the command line would offer that begins with the program.
function __procpen_program
    set -l found (__procpen_words)
    set -l words (commandline -opc)
    set -l first (math (count $words) - (count $found) + 2)
    set -l current (commandline -ct)
    set -l line (string escape -- $words[$first..-1])
    test (count $found) -eq 1; and string match -q -- '-*' "$current"; and return
    complete -C "$line $current"
end

function __procpen_hosts
    set -l called (commandline -opc)[1]
    $called setup 2>/dev/null | string match -r '^  .*' | string replace -r '^  (\S+) +' '$1\t'
end

function __procpen_variables
    string join \n -- (set -nx)=
end
