import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from './free-port.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the path of a program in the first folder of the `PATH` that contains it, or `undefined`. */
export function findProgram(name: string, env: Environment = process.env): string | undefined {
  const folders = (env.PATH ?? '').split(delimiter)
  return folders.map((folder) => join(folder, name)).find(existsSync)
}

/**
 * Returns whether to run a test that needs a program. If the program is missing, prints a warning about the skipped tests. With
 * `TEST_PROGRAMS=required` the test runs anyway and fails, so that the nightly run skips nothing.
 */
export function canTestWith(name: string, env: Environment = process.env): boolean {
  if (findProgram(name, env) !== undefined || env.TEST_PROGRAMS === 'required') return true
  console.warn(`${name} is not installed: the tests that need it are skipped`)
  return false
}

export interface TestRedis {
  readonly url: string
  readonly stop: () => Promise<void>
}

/** Starts the installed Redis (`canTestWith('redis-server')`). Resolves when it is ready. */
export async function startRedis(): Promise<TestRedis> {
  const port = String(await freePort())
  const options = ['--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const program = spawn(findProgram('redis-server') ?? 'redis-server', options)
  for await (const line of createInterface(program.stdout)) if (line.includes('Ready to accept connections')) break
  program.stdout.resume()
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      program.kill()
      await once(program, 'exit')
    },
  }
}
