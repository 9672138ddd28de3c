import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { promisify } from 'node:util'
import { findCommandLine } from './process-identity.ts'

/** The process that listens on a port. */
export interface PortOwner {
  readonly pid: number
  /** The parts joined by spaces. */
  readonly commandLine: string
  /** The working directory of the program. Undefined when the system does not tell. */
  readonly directory: string | undefined
}

/** Finds the process that listens on a TCP port. Undefined when the system does not tell, as of processes of other users. */
export async function findPortOwner(port: number): Promise<PortOwner | undefined> {
  const pid = findByProc(port) ?? (await findByLsof(port))
  const commandLine = pid === undefined ? undefined : await findCommandLine(pid)
  if (pid === undefined || commandLine === undefined) return undefined
  return { pid, commandLine, directory: readLink(`/proc/${pid}/cwd`) }
}

/** The state of a listening socket in `/proc/net/tcp`. */
const LISTENING = '0A'

/** Linux lists sockets by port, and the sockets of each process. */
function findByProc(port: number): number | undefined {
  const sockets = new Set([...socketsOf('/proc/net/tcp', port), ...socketsOf('/proc/net/tcp6', port)])
  if (sockets.size === 0) return undefined
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).find((pid) => linksOf(`/proc/${pid}/fd`).some((link) => sockets.has(link)))
}

/** The listening sockets of a port, as links name them: `socket:[123]`. */
function socketsOf(file: string, port: number): readonly string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return readText(file)
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address = '', , state]) => address.endsWith(suffix) && state === LISTENING)
    .map((columns) => `socket:[${columns[9]}]`)
}

function linksOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).flatMap((name) => readLink(`${folder}/${name}`) ?? [])
  } catch {
    // The process is another user's, or has ended.
    return []
  }
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** For macOS. */
async function findByLsof(port: number): Promise<number | undefined> {
  try {
    const { stdout } = await promisify(execFile)('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-t'])
    const pid = Number.parseInt(stdout, 10)
    return Number.isNaN(pid) ? undefined : pid
  } catch {
    return undefined
  }
}
