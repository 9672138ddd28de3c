import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../../servers/run-program.ts'
import type { Toolchain } from './toolchains.ts'

/** A language in which clients of the services are generated and compiled. */
export interface Language {
  readonly name: string
  readonly toolchains: readonly Toolchain[]
  /** Generates the clients in an empty folder, and compiles them. @throws Error with the output of the tool that fails */
  readonly generate: (home: string) => Promise<unknown>
  /** Does the main job of each service with its client. @throws Error with the output of the program */
  readonly doJobs?: (home: string, env: Readonly<Record<string, string>>) => Promise<unknown>
}

/**
 * Generates the clients of a language, and does the main jobs with them. Clients that are not sound do no jobs.
 * @param say takes a line for each step: what it did, or why it failed
 * @returns whether each step succeeded
 */
export async function tryLanguage(
  { name, generate, doJobs }: Language,
  { home, env }: { readonly home: string; readonly env: Readonly<Record<string, string>> },
  say: (line: string) => void,
): Promise<boolean> {
  const tryStep = async (success: string, step: () => Promise<unknown>): Promise<boolean> => {
    try {
      await step()
      say(`${name}: ${success}`)
      return true
    } catch (error) {
      say(`not so: ${name}: ${success}\n${error instanceof Error ? error.message : String(error)}`)
      return false
    }
  }
  if (!(await tryStep('clients of three services are generated and compiled', () => generate(home)))) return false
  return doJobs === undefined || tryStep('the main jobs are done', () => doJobs(home, env))
}

/** The services that clients are generated of. */
export const SERVICES = ['auth', 'payments', 'inventory']

/** The path of the API document of a service. */
export function documentOf(service: string): string {
  return join(import.meta.dirname, '../../../../docs/openapi', `${service}.json`)
}

/** Copies a program of this folder to where the clients are. */
export function copyProgram(name: string, home: string): void {
  copyFileSync(join(import.meta.dirname, name), join(home, name))
}

/** Runs a program with each list of arguments. */
export async function runAll(program: string, cwd: string, lists: readonly (readonly string[])[]): Promise<void> {
  for (const args of lists) await runProgram({ program, args, cwd })
}
