import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import { type Bench, openBench } from '../bench.ts'
import { positiveInteger, runCommand, say } from '../program.ts'
import type { Server } from '../servers/server.ts'
import { percentileOf } from '../statistics.ts'
import {
  type Attack,
  type HonestResult,
  type HostileRequest,
  KINDS,
  type Kind,
  type Requests,
  sendHonestLoad,
  type Target,
} from './hostile-connections/target.ts'
import { authTarget, inventoryTarget, paymentsTarget } from './hostile-connections/targets.ts'

// Checks that hostile clients do not affect honest clients. For two minutes, 500 hostile connections never read, read or write
// slowly, send ahead, stay half open or request large responses, while honest clients send 100 requests a second. Honest requests
// must have a p99 below 250 ms and no failure. The memory of the service must stay less than 50 MiB above its value after a
// minute with only the honest load. Otherwise the exit status is 1.

const CONNECTIONS = 500
const PER_SECOND = 100
const HONEST_SECONDS = 60
const P99_MS_MAX = 250
const GROWTH_MIB_MAX = 50
const SAMPLE_MS = 100
/** The part of a body that is sent slowly, one byte a second. The load ends before the body. */
const KEPT_BACK_BYTES = 1_000

const targets = [authTarget, paymentsTarget, inventoryTarget]

const command = new Command('hostile-connections')
  .description('Opens hostile connections to the services beside an honest load.')
  .argument('[services...]', `${targets.map(({ service }) => service).join(', ')}; all by default`)
  .option('--seconds <number>', 'how long the connections stay open', positiveInteger, 120)
  .option('--kinds <kinds>', `the kinds of the connections: ${KINDS.join(',')}`, readKinds, KINDS)
  .action(run)

await runCommand(command)

interface RunOptions {
  readonly seconds: number
  readonly kinds: readonly Kind[]
}

function readKinds(text: string): readonly Kind[] {
  return text.split(',').map((word) => {
    const kind = KINDS.find((known) => known === word)
    if (kind === undefined) throw new InvalidArgumentError(`There is no kind "${word}".`)
    return kind
  })
}

async function run(names: readonly string[], { seconds, kinds }: RunOptions): Promise<void> {
  const unknown = names.filter((name) => !targets.some(({ service }) => service === name))
  if (unknown.length > 0) throw new Error(`unknown services: ${unknown.join(', ')}`)
  await using bench = await openBench()
  for (const target of targets.filter(({ service }) => names.length === 0 || names.includes(service))) {
    if (!(await tryService(target, bench, { seconds, kinds }))) process.exitCode = 1
  }
}

async function tryService(target: Target, bench: Bench, { seconds, kinds }: RunOptions): Promise<boolean> {
  const deployment = await bench.deploy(target.service, { env: target.env })
  const server = await deployment.serve()
  await using started = new AsyncDisposableStack()
  const requests = await target.prepare({ url: server.url, deployment, execute: deployment.execute })
  const honest = (forSeconds: number) =>
    sendHonestLoad(server.url, requests.next, { perSecond: PER_SECOND, seconds: forSeconds })
  const alone = await honest(Math.min(HONEST_SECONDS, seconds))
  const before = server.residentMib() ?? Number.NaN
  const attack = startAttack(server, requests, kinds)
  started.defer(attack.stop)
  const peak = watchPeak(server)
  const beside = await honest(seconds)
  return report(target.service, { alone, beside, before, peak: peak.stop() })
}

function startAttack({ url }: Server, { huge, slowBody }: Requests, kinds: readonly Kind[]) {
  const attack: Attack = {
    port: Number(new URL(url).port),
    connections: CONNECTIONS,
    kinds: [...kinds],
    huge: huge.map((request) => `GET ${headOf(request)}\r\n`),
    slowBody: {
      head: `POST ${headOf(slowBody)}Content-Length: ${slowBody.bytes}\r\n\r\n`,
      bytes: slowBody.bytes - KEPT_BACK_BYTES,
    },
  }
  const child = spawn(process.execPath, [join(import.meta.dirname, 'hostile-connections', 'attack.ts')], {
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  child.stdin.end(JSON.stringify(attack))
  return {
    stop: async () => {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

function headOf({ path, headers = {} }: HostileRequest): string {
  const lines = Object.entries({ host: 'service', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${path} HTTP/1.1\r\n${lines.join('')}`
}

function watchPeak(server: Server) {
  let peak = 0
  const timer = setInterval(() => {
    peak = Math.max(peak, server.residentMib() ?? Number.NaN)
  }, SAMPLE_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return peak
    },
  }
}

function report(
  service: string,
  {
    alone,
    beside,
    before,
    peak,
  }: {
    readonly alone: HonestResult
    readonly beside: HonestResult
    /** In MiB. */
    readonly before: number
    readonly peak: number
  },
): boolean {
  const [p99Alone, p99] = [percentileOf(alone.times, 0.99), percentileOf(beside.times, 0.99)]
  const growth = peak - before
  say(
    `${service.padEnd(10)} p99 ${p99Alone.toFixed(0)} ms alone, ${p99.toFixed(0)} ms beside ${CONNECTIONS} hostile connections` +
      ` (p50 ${percentileOf(beside.times, 0.5).toFixed(0)}, max ${percentileOf(beside.times, 1).toFixed(0)});` +
      ` memory ${before.toFixed(0)} MiB, peak ${peak.toFixed(0)} (+${growth.toFixed(0)})`,
  )
  for (const [failure, count] of [...alone.failed, ...beside.failed]) say(`  ${count} times ${failure}`)
  const isFine = p99 < P99_MS_MAX && growth < GROWTH_MIB_MAX && alone.failed.size + beside.failed.size === 0
  if (!isFine) say(`  must have p99 below ${P99_MS_MAX} ms, less than ${GROWTH_MIB_MAX} MiB more, and no failure`)
  return isFine
}
