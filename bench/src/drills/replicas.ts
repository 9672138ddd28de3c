import { parseArgs } from 'node:util'
import { waitUntilReady } from '@trestle/stack/processes/readiness.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { type BenchService, openBench } from '../bench.ts'
import { say } from '../program.ts'
import { HAPROXY, startHaproxy } from '../servers/haproxy.ts'
import { openWorkplace, requirePrograms } from '../servers/workplace.ts'
import { compareReferences, countReferences } from './loads/acknowledgements.ts'
import {
  countAllowed,
  type Replicas,
  type RequestCount,
  sendAtOnce,
  sendAtRate,
  sharedLimits,
  startCount,
  startReplicas,
  type Writer,
  writers,
} from './loads/writers.ts'

// Runs two replicas of each service behind HAProxy, like the profile `replicas` of Compose: `scripts/replicas [--restarts 20]
// [--signals 50] [--rate 200] [service…]`. First restarts the replicas in turn under that many requests per second. Then ends
// replicas by SIGTERM while 32 clients send requests without a pause. No request may fail, and no acknowledged write may be lost
// or stored twice. Finally sends requests to both replicas in turn until their common limit is reached. The exit status is 1 if
// any check fails. Use an idle machine, because a machine that cannot keep up with the rate fails too.

const CLIENTS = 32
const START_MS = 10_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    restarts: { type: 'string', default: '20' },
    signals: { type: 'string', default: '50' },
    rate: { type: 'string', default: '200' },
  },
})
const [restarts = 0, signals = 0, rate = 0] = [values.restarts, values.signals, values.rate].map(Number)
if (!(restarts >= 0 && signals >= 0 && rate > 0)) throw new Error('restarts, signals and rate are numbers')
requirePrograms([HAPROXY])

await using bench = await openBench()
for (const writer of writers) {
  const isWanted = positionals.length === 0 || positionals.includes(writer.service)
  if (isWanted && !(await tryService(writer))) process.exitCode = 1
}

async function tryService(writer: Writer): Promise<boolean> {
  const { service, env } = writer
  const deployed = await bench.deploy(service, { env })
  const isWell = await tryRestarts(writer, deployed)
  return (await tryLimit(writer, deployed)) && isWell
}

async function tryRestarts(writer: Writer, deployment: BenchService): Promise<boolean> {
  await using replicas = await startReplicas(deployment, writer.service)
  const port = await freePort()
  const servers = replicas.ports.map((at, index) => ({ name: `${writer.service}-${index + 1}`, port: at }))
  await using workplace = await openWorkplace('balancer')
  await startHaproxy(workplace, [{ name: writer.service, port, mode: 'http', check: '/ready', servers }])
  const url = `http://127.0.0.1:${port}`
  await waitUntilReady(`${url}/ready`, AbortSignal.timeout(START_MS))
  const requests = await writer.prepare({
    url: replicas.urls[0] ?? '',
    secrets: deployment.secrets,
    execute: deployment.execute,
  })
  const mix = { writer, requests, url }
  const count = startCount()
  await sendAtRate(mix, count, rate, restartOneByOne(replicas, 2 * restarts))
  report(`${writer.service}: ${restarts} rolling restarts at ${rate} requests a second`, count)
  await sendAtOnce(mix, count, CLIENTS, restartOneByOne(replicas, signals))
  report(`${writer.service}: and ${signals} SIGTERMs while ${CLIENTS} clients send requests without a pause`, count)
  return count.failed.size === 0 && (await isComplete(writer, deployment, count))
}

async function restartOneByOne({ restart }: Replicas, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) await restart(time % 2)
}

async function isComplete(
  { service, found }: Writer,
  { execute }: BenchService,
  count: RequestCount,
): Promise<boolean> {
  const { lost, doubled } = compareReferences(count.acknowledged, countReferences(await execute(found)))
  say(`${service}: ${count.acknowledged.size} writes acknowledged, ${lost.length} lost, ${doubled.length} doubled`)
  return lost.length === 0 && doubled.length === 0
}

async function tryLimit({ service }: Writer, deployment: BenchService): Promise<boolean> {
  const limit = sharedLimits[service]
  await using replicas = await startReplicas(deployment, service, limit.env)
  const passed = await countAllowed(replicas.urls, limit)
  say(`${service}: of ${2 * limit.allowed} requests to both replicas ${passed} passed a limit of ${limit.allowed}`)
  return passed === limit.allowed
}

function report(what: string, { sent, failed }: RequestCount): void {
  const failures = [...failed].map(([failure, times]) => `${times} × ${failure}`).join(', ')
  say(`${what}: ${sent} requests, failed: ${failures || 'none'}`)
}
