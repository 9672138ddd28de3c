import { fork } from 'node:child_process'
import { Console } from 'node:console'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

interface EndedCommand {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

export interface CommandServer {
  /** The port on 127.0.0.1 at which the process receives commands from `run`. */
  readonly port: number
  /** Runs the program of a file in a folder, with only the given environment. */
  readonly run: (file: string, args: readonly string[], options: CommandOptions) => Promise<EndedCommand>
  readonly stop: () => Promise<unknown>
}

interface CommandOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Starts a process that runs commands. It loads the modules of a service only once, because loading takes longer than most
 * commands. Each command has its own arguments, environment, folder and output, like a separate process. It ends when nothing
 * would keep such a process alive. If a program waits for a signal or reads its input, start a process for it instead.
 */
export async function startCommandServer(): Promise<CommandServer> {
  const child = fork(import.meta.filename, { env: programEnvironment })
  const [port] = await once(child, 'message')
  return {
    port,
    run: async (file, args, { cwd, env }) => {
      const socket = connect(port, '127.0.0.1')
      const variables = Object.entries(env).flatMap(([name, value]) =>
        value === undefined ? [] : [`${name}=${value}`],
      )
      socket.write([cwd, file, args.length, ...args, ...variables, '', ''].join('\0'))
      return parseAnswer(await buffer(socket))
    },
    stop: () => {
      const ended = once(child, 'close')
      child.kill('SIGKILL')
      return ended
    },
  }
}

/** The first line has the exit status and the length of stderr in bytes. Stderr and stdout follow. */
function parseAnswer(answer: Buffer): EndedCommand {
  const start = answer.indexOf('\n') + 1
  if (start === 0) throw new Error('the process of the commands has ended')
  const [status, length] = answer.toString('utf8', 0, start).split(' ').map(Number)
  const middle = start + Number(length)
  return {
    status: Number(status),
    stderr: answer.toString('utf8', start, middle),
    stdout: answer.toString('utf8', middle),
  }
}

interface Command {
  readonly cwd: string
  readonly file: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

/** Reads NUL-terminated strings: folder, file, number of arguments, arguments, variables, and an empty string. */
async function readCommand(socket: Socket): Promise<Command> {
  let received = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    received += chunk
    const [cwd = '', file = '', count, ...fields] = received.split('\0')
    const variables = fields.slice(Number(count))
    if (variables.length < 2 || variables.at(-2) !== '' || variables.at(-1) !== '') continue
    const env = variables.slice(0, -2).map((variable) => variable.split(/=(.*)/s))
    return { cwd, file, args: fields.slice(0, Number(count)), env: Object.fromEntries(env) }
  }
  throw new Error('a request was cut off')
}

/** Thrown by `process.exit`, so that the command does not continue. */
class Exit extends Error {}

/** Runs a command in this process. @returns the bytes to send to the client */
async function runHere({ cwd, file, args, env }: Command, number: number): Promise<Buffer> {
  const output: Readonly<Record<'stdout' | 'stderr', Buffer[]>> = { stdout: [], stderr: [] }
  let exited: number | undefined
  for (const name of ['stdout', 'stderr'] as const) {
    const write = (chunk: Buffer, _encoding: unknown, done: () => void) => {
      if (exited === undefined) output[name].push(chunk)
      done()
    }
    Object.defineProperty(process, name, { value: new Writable({ write }), configurable: true })
  }
  process.exit = (status) => {
    exited ??= Number(status ?? process.exitCode ?? 0)
    throw new Exit()
  }
  process.exitCode = undefined
  process.argv = [process.execPath, file, ...args]
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  // The existing console of the process keeps its original streams, so create a new console.
  globalThis.console = new Console(process.stdout, process.stderr)
  const idle = once(process, 'beforeExit')
  // The query string makes Node.js load the file again. Only the modules that it imports stay loaded between two commands.
  let status = await Promise.race([runModule(`${pathToFileURL(file)}?${number}`), idle.then(() => UNSETTLED)])
  if (status !== UNSETTLED) await idle
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal)
  status = exited ?? (status || Number(process.exitCode ?? 0))
  const errors = Buffer.concat(output.stderr)
  return Buffer.concat([Buffer.from(`${status} ${errors.length}\n`), errors, ...output.stdout])
}

/** The exit status of Node.js if the top-level await of a module can never settle. */
const UNSETTLED = 13

async function runModule(url: string): Promise<number> {
  try {
    await import(url)
    return 0
  } catch (error) {
    if (!(error instanceof Exit)) process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
    return 1
  }
}

async function serve(): Promise<void> {
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  process.on('uncaughtException', (error) => {
    if (!(error instanceof Exit)) throw error
  })
  const server = createServer()
  let last = Promise.resolve()
  let number = 0
  server.on('connection', (socket) => {
    socket.setEncoding('utf8')
    // A waiting client must not keep the command of another client alive. The server keeps this process alive.
    socket.unref()
    last = last.then(async () => {
      const command = await readCommand(socket)
      // From here on, only the command keeps this process alive.
      server.unref()
      process.channel?.unref()
      number += 1
      const answer = await runHere(command, number)
      server.ref()
      socket.end(answer)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address === 'object') process.send?.(address?.port)
}

if (import.meta.main) await serve()

/**
 * The environment of the repository's programs in tests, in addition to their settings. A program starts in half the time if it
 * uses the compile cache of an earlier program.
 */
export const programEnvironment = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'trestle', 'programs'),
} as const
