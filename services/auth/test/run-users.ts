import { Readable, Writable } from 'node:stream'
import { Command } from 'commander'
import { usersCommand } from '../src/commands/users.ts'
import type { TestApp } from './auth-app.ts'

interface UsersRun {
  readonly output: string
  readonly reports: readonly string[]
  /** The error message, or `undefined` if the command succeeds. */
  readonly failure: unknown
}

/** Runs `auth users …`. Returns its output, its report and its error. */
export async function runUsers(
  { deps, clock }: Pick<TestApp, 'deps' | 'clock'>,
  words: readonly string[],
  input: string | Buffer = '',
): Promise<UsersRun> {
  const chunks: Buffer[] = []
  const reports: string[] = []
  const command = usersCommand({
    operator: {
      open: async () => ({ ...deps, close: async () => {} }),
      print: (line) => void chunks.push(Buffer.from(`${line}\n`)),
    },
    now: clock.now,
    stdin: Readable.from([Buffer.from(input)]),
    stdout: new Writable({
      write: (chunk, _encoding, done) => {
        chunks.push(chunk)
        done()
      },
    }),
    report: (line) => reports.push(line),
  })
  const program = new Command().exitOverride().addCommand(command)
  const failure = await program.parseAsync(['users', ...words], { from: 'user' }).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : error),
  )
  return { output: Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))).toString(), reports, failure }
}
