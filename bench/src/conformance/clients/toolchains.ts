import { runProgram } from '../../servers/run-program.ts'

/** A program of the machine that a language needs, and how to see that it is there. */
export interface Toolchain {
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
}

/** The names of the toolchains that are not there, or are too old. */
export async function findMissing(toolchains: readonly Toolchain[], path = process.env.PATH ?? ''): Promise<string[]> {
  const tried = toolchains.map(async ({ name, program, args }) => {
    const isThere = runProgram({ program, args, env: { ...process.env, PATH: path } as Record<string, string> })
    return await isThere.then(
      () => [],
      () => [name],
    )
  })
  return [...new Set((await Promise.all(tried)).flat())]
}
