// Asks a person before something that cannot be taken back: sending again, forgetting, removing. A script cannot be asked: it is told which option agrees.
import { createInterface } from 'node:readline/promises'
import { CliFailure } from './failure.ts'
import type { CommandContext } from './verb.ts'

/** Returns once the person agreed to `sentence`. A CliFailure with `otherwise` when nobody can be asked, or with `declined`. */
export async function confirm(
  { stdin, stderr }: CommandContext,
  { sentence, otherwise, declined }: { sentence: string; otherwise: string; declined: string },
): Promise<void> {
  if (!('isTTY' in stdin && stdin.isTTY)) throw new CliFailure(`${sentence}. ${otherwise}`, 2)
  const asking = createInterface({ input: stdin, output: stderr })
  const answer = await asking.question(`${sentence}. Continue? [y/N] `)
  asking.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliFailure(declined)
}
