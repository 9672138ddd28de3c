import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { promisify } from 'node:util'
import { portsFromBase } from '../settings/ports.ts'
import { StackFailure } from '../stack-failure.ts'
import { findCommandLine } from './process-identity.ts'

/** A port that the stack will listen on, and the setting that changes it. */
export interface WantedPort {
  readonly purpose: string
  readonly host: string
  readonly port: number
  readonly setting: string
  /** Whether the port is derived from `TRESTLE_PORT_BASE`, because its setting is not set. */
  readonly isCounted: boolean
}

/** How to recognize another stack: by a part of its command line, and by its working directory. */
interface StackIdentity {
  readonly program: string
  readonly root: string
}

/** The process id of this stack if it uses the port. This works without the data of the stack, which may have been removed. */
export async function findStackByPort(port: number, { program, root }: StackIdentity): Promise<number | undefined> {
  const owner = await findPortOwner(port)
  return owner?.commandLine.includes(program) && owner.directory === root ? owner.pid : undefined
}

/**
 * Checks that no other stack uses a port of the stack itself. A start must not touch the processes of another stack. If the data
 * of that stack were removed, their pid files cannot identify them.
 *
 * @throws StackFailure that names the other stack
 */
export async function requireNoOtherStack(port: number, { program, root }: StackIdentity): Promise<void> {
  const owner = await findPortOwner(port)
  if (!owner?.commandLine.includes(program)) return
  const { pid, directory } = owner
  if (directory === root) {
    const problem = `Trestle is still running here (process ${pid}), though its data were removed.`
    throw new StackFailure([`${problem} Stop it first: npm start -- stop`])
  }
  const place = directory === undefined ? '' : ` in ${directory}`
  throw new StackFailure([
    `Trestle is already running${place} (process ${pid}). Stop that first, or use other ports: ${await findOtherPorts()}`,
  ])
}

/**
 * Checks every port before anything is started.
 *
 * @throws StackFailure with one line for each port that is in use or configured twice
 */
export async function requireFreePorts(wanted: readonly WantedPort[]): Promise<void> {
  const problems: string[] = []
  for (const [index, want] of wanted.entries()) {
    const earlier = wanted.slice(0, index).find((other) => other.port === want.port)
    if (earlier) {
      problems.push(`${earlier.setting} and ${want.setting} are both ${want.port}; give one of them another port.`)
      continue
    }
    const code = await tryPort(want)
    if (code === 'EADDRINUSE') {
      problems.push(`Port ${want.port} (${want.purpose}) is in use by ${await describeUse(want)}`)
    } else if (code !== undefined) {
      problems.push(`Port ${want.port} (${want.purpose}) cannot be opened: ${code}. Set ${want.setting} to another.`)
    }
  }
  if (problems.length > 0) throw new StackFailure(problems)
}

/** Describes the program that uses a port, and what the user can do. */
async function describeUse({ host, port, setting, isCounted }: WantedPort): Promise<string> {
  const owner = await findPortOwner(port)
  if (owner !== undefined || !(await isRefused(host, port))) {
    const advice = isCounted ? `use other ports: ${await findOtherPorts()}` : `set ${setting}.`
    return `${nameOf(owner)}. Stop that, or ${advice}`
  }
  const advice = 'Try again, or choose ports below 32768'
  return `an outgoing connection of this machine. ${advice}: set ${setting} or TRESTLE_PORT_BASE.`
}

/** Round numbers below 32768, where the range of Linux for outgoing connections begins. */
const BASES = Array.from({ length: 13 }, (_, thousands) => 20_000 + thousands * 1000)

/** Returns the command for a start with other ports, all of which are currently free. */
async function findOtherPorts(): Promise<string> {
  for (const base of BASES) {
    const codes = await Promise.all(portsFromBase(base).map((port) => tryPort({ host: '127.0.0.1', port })))
    if (codes.every((code) => code === undefined)) return `TRESTLE_PORT_BASE=${base} npm start`
  }
  return 'TRESTLE_PORT_BASE=… npm start'
}

/** Returns whether no program listens on a port. The system may have assigned such a port to a client. */
function isRefused(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1_000 })
    const end = (refused: boolean) => {
      socket.destroy()
      resolve(refused)
    }
    socket.once('connect', () => end(false))
    socket.once('timeout', () => end(false))
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED'))
  })
}

const NAME_LENGTH_MAX = 80

function nameOf(owner: PortOwner | undefined): string {
  if (owner === undefined) return 'another program'
  const { pid, commandLine } = owner
  const name = commandLine.length > NAME_LENGTH_MAX ? `${commandLine.slice(0, NAME_LENGTH_MAX)}…` : commandLine
  return `process ${pid} (${name})`
}

/** Tries to listen on a port. Resolves to the error code, or `undefined` if the port is currently free. */
export function tryPort({ host, port }: Pick<WantedPort, 'host' | 'port'>): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

/** The process that listens on a port. */
interface PortOwner {
  readonly pid: number
  /** The arguments, joined by spaces. */
  readonly commandLine: string
  /** The working directory of the program. `undefined` if the system does not allow reading it. */
  readonly directory: string | undefined
}

/** Finds the process that listens on a TCP port, or `undefined` if the system hides it, as for other users. */
async function findPortOwner(port: number): Promise<PortOwner | undefined> {
  const pid = findByProc(port) ?? (await findByLsof(port))
  const commandLine = pid === undefined ? undefined : await findCommandLine(pid)
  if (pid === undefined || commandLine === undefined) return undefined
  return { pid, commandLine, directory: readLink(`/proc/${pid}/cwd`) }
}

/** The state of a listening socket in `/proc/net/tcp`. */
const LISTENING = '0A'

/** Finds the process in `/proc`. Linux lists sockets by port, and the sockets of each process. */
function findByProc(port: number): number | undefined {
  const sockets = new Set([...socketsOf('/proc/net/tcp', port), ...socketsOf('/proc/net/tcp6', port)])
  if (sockets.size === 0) return undefined
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).find((pid) => linksOf(`/proc/${pid}/fd`).some((link) => sockets.has(link)))
}

/** Returns the listening sockets of a port in the format of symbolic links: `socket:[123]`. */
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
    // The process belongs to another user or has ended.
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

/** Finds the process with `lsof`, for macOS. */
async function findByLsof(port: number): Promise<number | undefined> {
  try {
    const { stdout } = await promisify(execFile)('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-t'])
    const pid = Number.parseInt(stdout, 10)
    return Number.isNaN(pid) ? undefined : pid
  } catch {
    return undefined
  }
}
