import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { findProgram } from './find-program.ts'
import { freePort } from './free-port.ts'

/** A Redis of a test file. */
export interface TestRedis {
  readonly url: string
  readonly stop: () => Promise<void>
}

/** Starts the Redis of the machine (`canTestWith('redis-server')`). Resolves when it is ready. */
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
