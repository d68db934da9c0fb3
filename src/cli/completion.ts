// Scripts with which a shell completes nouns, verbs and options. All words are in the script: to ask the program for them would take longer
// than typing them.
import type { Command } from 'commander'

/** The shells that there are scripts for; zsh takes those of bash. */
export const SHELLS = ['bash', 'zsh'] as const
type Shell = (typeof SHELLS)[number]

/** The name under which the command line is installed. */
const PROGRAM = 'laneway'

/** zsh reads a script of bash once it has these. */
const FOR_ZSH = 'autoload -Uz compinit bashcompinit\n(( $+functions[compdef] )) || compinit\nbashcompinit\n'

/** The script for a shell, of a program with all its verbs. In zsh `path` and `words` are variables of its own. */
export const completionScript = (program: Command, shell: Shell): string =>
  `${shell === 'zsh' ? FOR_ZSH : ''}_${PROGRAM}() {
  local at typed='' offers=''
  for ((at = 1; at < COMP_CWORD; at++)); do
    [[ \${COMP_WORDS[at]} == -* ]] || typed+=" \${COMP_WORDS[at]}"
  done
  case "$typed" in
${linesOf(program, '').join('\n')}
  esac
  COMPREPLY=($(compgen -W "$offers" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${PROGRAM} ${PROGRAM}
`

/** What may follow a command, and what may follow its commands. After a verb stand its values, which nobody knows. */
function linesOf(command: Command, path: string): string[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command).filter((each) => each.name() !== 'help')
  const options = help.visibleOptions(command).flatMap(({ long }) => long ?? [])
  const offers = [...commands.flatMap((each) => [each.name(), ...each.aliases()]), ...options]
  const values = commands.length === 0 ? `|'${path} '*` : ''
  const own = `    '${path}'${values}) offers='${offers.join(' ')}' ;;`
  return [
    ...commands.flatMap((each) => [each.name(), ...each.aliases()].flatMap((word) => linesOf(each, `${path} ${word}`))),
    own,
  ]
}
