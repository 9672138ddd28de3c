import { setTimeout as delay } from 'node:timers/promises'
import type { Bench, BenchService } from '../../bench.ts'
import { say } from '../../program.ts'
import { type ClientAnswer, type ClientRequest, send } from './send.ts'

/** The state that clients need about a service that is killed. */
export interface CrashLoad {
  /** The URL of the running server, or of the next one. */
  url(): Promise<string>
  isOver: boolean
  unanswered: number
  /** Responses that show a defect. */
  readonly defects: string[]
}

type Victim = 'the service' | 'PostgreSQL' | 'both'

const RETRY_MS = 50

/**
 * Repeatedly kills a service, its PostgreSQL or both while clients use the service, and restarts them.
 * @param options `prepare` creates the data, and returns the repeated work of a client; `describe` is printed after each kill
 * @returns the load, after the last client has its response
 */
export async function crashRepeatedly(options: {
  readonly bench: Bench
  readonly service: BenchService
  readonly kills: number
  readonly victims: readonly Victim[]
  /** The mean time between kills. */
  readonly lifeMs: number
  readonly clients: number
  readonly prepare: (url: string) => Promise<(load: CrashLoad) => Promise<void>>
  readonly describe: () => string
}): Promise<CrashLoad> {
  const { bench, service, kills, victims, lifeMs, clients } = options
  let server = service.start()
  bench.defer(async () => (await server).stop())
  const act = await options.prepare((await server).url)
  const load: CrashLoad = { url: async () => (await server).url, isOver: false, unanswered: 0, defects: [] }
  const useService = async () => {
    while (!load.isOver) await act(load)
  }
  const using = Promise.all(Array.from({ length: clients }, useService))
  for (let kill = 1; kill <= kills; kill += 1) {
    await delay(lifeMs * (0.5 + Math.random()))
    const victim = victims[Math.floor(Math.random() * victims.length)] ?? 'the service'
    const running = await server
    const crashed = victim === 'the service' ? undefined : bench.database.crash()
    if (victim !== 'PostgreSQL') server = running.kill().then(() => service.start())
    await Promise.all([crashed, server])
    say(`kill ${kill}, ${victim}: ${options.describe()}, ${load.unanswered} times no answer`)
  }
  load.isOver = true
  await using
  return load
}

/** Sends a request until it gets a response. A response that is not expected, 409 or 503 is a defect. */
export async function askUntilAnswered(
  load: CrashLoad,
  request: ClientRequest,
  isAnswer: (answer: ClientAnswer) => boolean,
): Promise<ClientAnswer> {
  for (;;) {
    const outcome = await send(await load.url(), request)
    if (typeof outcome !== 'string') {
      if (isAnswer(outcome)) return outcome
      const { status, body } = outcome
      if (status !== 409 && status !== 503) load.defects.push(`${request.path} answers ${status}: ${body}`)
    }
    load.unanswered += 1
    await delay(RETRY_MS)
  }
}
