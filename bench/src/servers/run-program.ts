import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { pinned } from './cores.ts'

/** Returns the standard output. @throws Error with the output if the program fails */
export async function runProgram({
  program,
  args,
  env,
  cwd,
  cores,
}: {
  readonly program: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly cores?: string | undefined
}): Promise<string> {
  const [first = '', ...rest] = pinned(cores, program, args)
  try {
    const { stdout } = await promisify(execFile)(first, rest, { ...(env && { env }), ...(cwd && { cwd }) })
    return stdout
  } catch (cause) {
    const said =
      cause instanceof Error && 'stderr' in cause ? `${'stdout' in cause ? cause.stdout : ''}${cause.stderr}` : ''
    throw new Error(`${program} failed: ${said.trim()}`, { cause })
  }
}
