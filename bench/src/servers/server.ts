import { type ChildProcess, spawn } from 'node:child_process'
import { get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { pinned } from './cores.ts'
import { processorMsOfOne, readProcess } from './process-tree.ts'

export interface Server {
  readonly url: string
  /** Milliseconds from the start of the process to the first 200 of each path in `signs`. */
  readonly startMs: readonly number[]
  /** Returns the memory of the process in MiB. `undefined` if the system does not report it. */
  residentMib(): number | undefined
  /** Returns the used processor time in milliseconds. `undefined` if the system does not report it. */
  processorMs(): number | undefined
  /** Stops the server with SIGTERM, like a deployment. */
  stop(): Promise<void>
  /** Kills the server with SIGKILL during its work. */
  kill(): Promise<void>
}

const POLL_MS = 2
const START_MS = 30_000
/** A service finishes its work within 30 s. */
const STOP_MS = 35_000
const ERROR_LENGTH = 4_000

/**
 * Starts a server, with the Node.js of this process unless it is another program. Its output is read from pipes and discarded, as
 * a container's output is read.
 * @throws Error with its standard error if it ends or does not answer in time
 */
export async function startServer(command: {
  readonly name: string
  /** A program that is not a TypeScript file. */
  readonly program?: string
  /** A TypeScript file and its arguments, or the arguments of `program`. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** `undefined` if the system chooses the cores. */
  readonly cores: string | undefined
  /** The URL without a slash at the end. */
  readonly url: string
  /** Paths that answer 200 when the server works, in the expected order. */
  readonly signs: readonly string[]
  /** How often they are requested. By default often, for an exact `startMs`, which takes processor time. */
  readonly pollMs?: number
  /** The longest start, in milliseconds. 30 s by default. */
  readonly startMsMax?: number
}): Promise<Server> {
  const [program = '', ...args] = pinned(command.cores, command.program ?? process.execPath, command.args)
  const spawnedMs = performance.now()
  const child = spawn(program, args, { cwd: command.cwd, env: command.env, stdio: ['ignore', 'pipe', 'pipe'] })
  // Signals to this process's group do not reach the server.
  const killLast = () => child.kill('SIGKILL')
  process.once('exit', killLast)
  child.once('exit', () => process.removeListener('exit', killLast))
  child.stdout.resume()
  let said = ''
  child.stderr.on('data', (data) => {
    said = (said + String(data)).slice(-ERROR_LENGTH)
  })
  const startMs: number[] = []
  for (const sign of command.signs) {
    while (!(await answers(command.url + sign))) {
      const problem = hasEnded(child)
        ? 'has ended'
        : performance.now() - spawnedMs > (command.startMsMax ?? START_MS)
          ? 'does not answer'
          : ''
      if (problem !== '') {
        child.kill('SIGKILL')
        throw new Error(`${command.name} ${problem}:\n${said}`)
      }
      await delay(command.pollMs ?? POLL_MS)
    }
    startMs.push(performance.now() - spawnedMs)
  }
  return {
    url: command.url,
    startMs,
    residentMib: () => readResidentMib(child.pid),
    processorMs: () => processorMsOfOne(child.pid),
    stop: () => stop(child),
    kill: () => end(child, 'SIGKILL'),
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: START_MS }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(false))
  })
}

async function stop(child: ChildProcess): Promise<void> {
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await end(child, 'SIGTERM')
  clearTimeout(late)
}

async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (hasEnded(child)) return
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill(signal)
  await ended
}

function readResidentMib(pid: number | undefined): number | undefined {
  const kib = /^VmRSS:\s+(\d+)/m.exec(readProcess(pid, 'status'))?.[1]
  return kib === undefined ? undefined : Number(kib) / 1024
}
