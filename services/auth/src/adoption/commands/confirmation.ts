import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'

/** The terminal of a command, which prints lines and asks the operator. */
export interface Conversation {
  readonly print: (line: string) => void
  /** Puts a question to the operator, and resolves to the answer; undefined where nobody can answer. */
  readonly ask: (question: string) => Promise<string | undefined>
}

export interface Decision {
  /** The facts that the operator should know before, a line each. They are printed in any case. */
  readonly lines: readonly string[]
  readonly question: string
  /** Whether `--yes` has answered already. */
  readonly isAnswered: boolean
}

/** Asks before a command does something irreversible. @returns whether to do it @throws Error where nobody has answered */
export async function confirm(
  { print, ask }: Conversation,
  { lines, question, isAnswered }: Decision,
): Promise<boolean> {
  for (const line of lines) print(line)
  if (isAnswered) return true
  const answer = await ask(`${question} [y/N] `)
  if (answer === undefined) throw new Error('nothing changed: nobody has answered. --yes answers the question')
  return /^y(es)?$/i.test(answer)
}

/** Asks a question on a terminal. @returns the answer; undefined where the input ends without one, as in a script */
export async function askOn(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  question: string,
): Promise<string | undefined> {
  const terminal = createInterface({ input, output })
  // A question does not settle when its input ends.
  const ended = once(terminal, 'close').then(() => undefined)
  const answer = await Promise.race([terminal.question(question), ended]).finally(() => terminal.close())
  // The next line, such as the error about a missing answer, must not stand behind the question.
  if (answer === undefined) output.write('\n')
  return answer
}
