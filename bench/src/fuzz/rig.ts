import { join } from 'node:path'
import { freePort } from '@trestle/testing/free-port.ts'
import { z } from 'zod'
import type { DatabaseServer } from '../servers/database.ts'
import { deploy } from '../servers/deployment.ts'
import { createJudge, type Judge } from './judge.ts'
import { createMemory, type Memory } from './memory.ts'
import { type ApiDocument, readApiDocument } from './openapi.ts'
import type { Plan } from './plan.ts'
import { createSender, type Sender } from './send.ts'
import { createSession, type Session } from './session.ts'
import type { Ask, Ready, Target } from './target.ts'
import { toWire } from './wire.ts'

/** The database of the service, and the folder of its files. */
export interface RigOptions {
  readonly folder: string
  readonly database: DatabaseServer
}

/** A service that runs as an image does, with prepared actors, and a session that sends it requests. */
export interface Rig {
  readonly url: string
  readonly document: ApiDocument
  readonly session: Session
  readonly memory: Memory
  readonly sender: Sender
  readonly judge: Judge
  readonly ready: Ready
  readonly logFile: string
  /** Sends requests at once. */
  send(wave: readonly Plan[]): Promise<void>
  /** Whether the service still answers. */
  isAlive(): Promise<boolean>
  /** Memory after garbage collection, in MiB; undefined if the system does not report it, or the service has ended. */
  settledMib(): Promise<number | undefined>
}

/** Starts the rig. Disposing of the stack ends it. */
export async function startRig(target: Target, options: RigOptions, stack: AsyncDisposableStack): Promise<Rig> {
  const { env, prepare } = await target.surround(stack)
  const logFile = join(options.folder, `${target.service}.log`)
  const inspectorPort = await freePort()
  const deployment = await deploy(target.service, {
    folder: options.folder,
    databaseUrl: await options.database.create(`trestle_bench_fuzz_${target.service}`),
    env: {
      ...env,
      [`${target.service.toUpperCase()}_LOG_FILE`]: logFile,
      NODE_OPTIONS: `--max-semi-space-size=8 --inspect=127.0.0.1:${inspectorPort}`,
    },
  })
  const server = await deployment.start()
  stack.defer(server.stop)
  const sender = createSender(server.url)
  stack.defer(async () => sender.close())
  const document = readApiDocument(target.service)
  const memory = createMemory(target)
  let ready: Ready | undefined
  const judge = createJudge({ ...target, document, secrets: () => ready?.secrets ?? new Map() })
  const session = createSession({ ...target, sender, judge, memory, operations: document.operations })
  ready = await prepare({ deployment, memory, ask: askBy(session, (actor) => ready?.authorize('own', actor) ?? {}) })
  const { authorize } = ready
  const isAlive = async () => (await fetch(`${server.url}/health`).catch(() => undefined))?.status === 200
  return {
    url: server.url,
    document,
    session,
    memory,
    sender,
    judge,
    ready,
    logFile,
    send: async (wave) => {
      await session.exchange(
        wave.map((plan) => ({ actor: plan.actor, wire: toWire(plan, { memory, authorize }), isGenerated: true })),
      )
    },
    isAlive,
    settledMib: async () => {
      if (!(await isAlive())) return undefined
      await collectGarbage(inspectorPort)
      return server.residentMib()
    },
  }
}

function askBy(session: Session, headersOf: (actor: number) => Readonly<Record<string, string>>): Ask {
  return async ({ actor, method, target, body, headers = {} }) => {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const type = bytes === undefined ? {} : { 'content-type': 'application/json' }
    const all = Object.entries({ ...type, ...headersOf(actor), ...headers })
    const [answer] = await session.exchange([
      { actor, wire: { method, target, headers: all, body: bytes }, isGenerated: false },
    ])
    return answer
  }
}

const Targets = z.tuple([z.object({ webSocketDebuggerUrl: z.string() })])

/**
 * Collects the garbage of a process that was started with `--inspect=127.0.0.1:<port>`. A second collection frees what
 * finalizers of the first released.
 */
async function collectGarbage(port: number): Promise<void> {
  const [target] = Targets.parse(await (await fetch(`http://127.0.0.1:${port}/json/list`)).json())
  const socket = new WebSocket(target.webSocketDebuggerUrl)
  try {
    await waitForEvent(socket, 'open')
    for (let id = 1; id <= 2; id += 1) {
      const answered = waitForEvent(socket, 'message')
      socket.send(JSON.stringify({ id, method: 'HeapProfiler.collectGarbage' }))
      await answered
    }
  } finally {
    socket.close()
  }
}

function waitForEvent(socket: WebSocket, event: 'open' | 'message'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.addEventListener(event, () => resolve(), { once: true })
    socket.addEventListener(
      'error',
      () => reject(new Error('the process does not accept a debugger, so its garbage cannot be collected')),
      {
        once: true,
      },
    )
  })
}
