import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { freePort } from '@trestle/testing/free-port.ts'
import { inSeconds, say } from '../program.ts'
import { execute } from '../servers/database.ts'
import { waitUntilExecuted } from '../servers/debian-postgres.ts'
import { deploy } from '../servers/deployment.ts'
import { HAPROXY, startHaproxy } from '../servers/haproxy.ts'
import { type DatabaseCluster, PATRONI_PROGRAMS, startCluster } from '../servers/patroni.ts'
import { openWorkplace, requirePrograms, type Workplace } from '../servers/workplace.ts'
import { compareReferences, countReferences, gapAfter } from './loads/acknowledgements.ts'
import { startWriteLoad, type WriteLoad, type Writer, writers } from './loads/writers.ts'

// Kills the primary of a three-node PostgreSQL repeatedly while all three services write: `scripts/ha-drill [--kills 10]`.
// Patroni, etcd and HAProxy run on loopback, as an unprivileged user. Kills alternate between the whole machine of the primary,
// including Patroni, and only PostgreSQL. Prints how long each service acknowledged nothing, and the results of the clients. Exit
// status 1 if an acknowledged write is lost or stored twice.

const CLIENTS = 3
const PAUSE_MS = 20
const LIFE_MS = 4_000
const RECOVERY_MS = 120_000
const POLL_MS = 50
const DATABASE = 'trestle'
const KILLS = ['machine', 'PostgreSQL'] as const

interface RunningService {
  readonly writer: Writer
  readonly load: WriteLoad
}

const { values } = parseArgs({ options: { kills: { type: 'string', default: '10' } } })
const kills = Number(values.kills)
if (!Number.isInteger(kills) || kills < 1) throw new Error('the number of kills is a whole number above 0')
requirePrograms([...PATRONI_PROGRAMS, HAPROXY])

await using workplace = await openWorkplace('ha-drill')
const cluster = await startCluster(workplace)
say(`${await cluster.waitUntilComplete()} is the primary, two standbys stream from it`)
const databaseUrl = await startBalancer(workplace, cluster)
const services: RunningService[] = []
await using started = new AsyncDisposableStack()
for (const writer of writers) services.push(await startService(writer))
const silences: number[] = []
for (let kill = 1; kill <= kills; kill += 1) {
  await delay(LIFE_MS)
  silences.push(await killPrimary(kill))
}
await delay(LIFE_MS)
await Promise.all(services.map(({ load }) => load.stop()))
if (!(await judge())) process.exitCode = 1

/** Starts an HAProxy that connects to the primary. @returns the URL of the services' database */
async function startBalancer(place: Workplace, { nodes, superuser }: DatabaseCluster): Promise<string> {
  const port = await freePort()
  const servers = nodes.map(({ name, postgresPort, restPort }) => ({ name, port: postgresPort, checkPort: restPort }))
  await startHaproxy(place, [{ name: 'primary', port, mode: 'tcp', check: '/primary', servers }])
  const url = (name: string) => `postgres://${superuser.name}:${superuser.password}@127.0.0.1:${port}/${name}`
  // Retry, because HAProxy treats the standbys as primaries until its first check.
  await waitUntilExecuted(url('postgres'), `CREATE DATABASE ${DATABASE}`, RECOVERY_MS)
  return url(DATABASE)
}

async function startService(writer: Writer): Promise<RunningService> {
  const { service, env } = writer
  const deployment = await deploy(service, { folder: workplace.folder, databaseUrl, env })
  const server = await deployment.start()
  started.defer(server.stop)
  const context = {
    url: server.url,
    secrets: deployment.secrets,
    execute: (text: string) => execute(databaseUrl, text),
  }
  const { write } = await writer.prepare(context)
  const load = startWriteLoad({ writer, url: server.url, request: write, clients: CLIENTS, pauseMs: PAUSE_MS })
  started.defer(load.stop)
  return { writer, load }
}

/** @returns the longest time in which a service acknowledged nothing, in milliseconds */
async function killPrimary(kill: number): Promise<number> {
  const what = KILLS[kill % 2] ?? 'machine'
  const primary = await cluster.waitUntilComplete()
  const killedAtMs = performance.now()
  await cluster.kill(primary, what)
  await Promise.all(services.map(({ load }) => waitUntilAcknowledged(load, killedAtMs)))
  if (what === 'machine') await cluster.revive(primary)
  const next = await cluster.waitUntilComplete()
  const each = services.map(({ writer, load }) => {
    return { service: writer.service, silence: gapAfter(load.times, killedAtMs, performance.now()) ?? 0 }
  })
  const seconds = each.map(({ service, silence }) => `${service} ${inSeconds(silence)}`).join(', ')
  say(`kill ${kill}, ${what} of ${primary}: ${next} took over; without service: ${seconds}`)
  return Math.max(...each.map(({ silence }) => silence))
}

/** Resolves when a write that began after the kill is acknowledged. */
async function waitUntilAcknowledged({ times }: WriteLoad, killedAt: number): Promise<void> {
  const deadline = killedAt + RECOVERY_MS
  const before = times.length
  while (times.length < before + 2 * CLIENTS) {
    if (performance.now() > deadline) throw new Error(`no service ${inSeconds(RECOVERY_MS)} after the kill`)
    await delay(POLL_MS)
  }
}

/** Compares acknowledged writes with stored rows. @returns whether no write is lost or doubled */
async function judge(): Promise<boolean> {
  let isWell = true
  for (const { writer, load } of services) {
    const found = countReferences(await execute(databaseUrl, writer.found))
    const { lost, doubled } = compareReferences(load.acknowledged, found)
    const errors = [...load.errors].map(([error, count]) => `${count} × ${error}`).join(', ')
    say(
      `${writer.service}: ${load.acknowledged.size} writes acknowledged, ${lost.length} lost, ${doubled.length} doubled; ` +
        `clients saw ${errors || 'no errors'}`,
    )
    if (lost.length > 0 || doubled.length > 0) isWell = false
  }
  const sorted = silences.toSorted((one, other) => one - other)
  const [median = 0, longest = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
  say(`${kills} kills; seconds without service: median ${inSeconds(median)}, longest ${inSeconds(longest)}`)
  return isWell
}
