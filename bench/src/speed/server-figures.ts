import { Command } from 'commander'
import { z } from 'zod'
import { post } from '../fixtures.ts'
import { positiveInteger, runCommand } from '../program.ts'
import { DURABLE } from '../servers/citus-cluster.ts'
import { execute } from '../servers/database.ts'
import { DEBIAN_POSTGRES, type PostgresServer, SUPERUSER, startPostgres } from '../servers/debian-postgres.ts'
import { deploy } from '../servers/deployment.ts'
import { openWorkplace, POSTGRES_BIN, requirePrograms, type Workplace } from '../servers/workplace.ts'
import { createGenerator, type Load, tryLoad } from './load.ts'
import { authScenario, inventoryScenario, paymentsScenario, type ScenarioContext } from './scenarios.ts'

// Measures the most frequent write of each service with one PostgreSQL: `node bench/src/speed/server-figures.ts`. Prints the
// rate, and the processor time per write in the service and in PostgreSQL, which waits for the disk at each commit. All programs
// share the machine's cores. So divide a core by the processor time to estimate what a dedicated server can do.

const PRODUCTS = 1_000
const STOCK = 1_000_000
const CONNECTIONS = 32
const WARM_UP_SECONDS = 3
const Created = z.object({ data: z.object({ id: z.number() }) })

interface Subject {
  readonly title: string
  readonly service: string
  readonly env: Readonly<Record<string, string>>
  /** Creates the data. @returns a function that creates the load of a sample */
  readonly prepare: (context: ScenarioContext) => Promise<() => Promise<Load>>
}

const subjects: readonly Subject[] = [
  { title: 'refreshes', ...authScenario, prepare: (context) => findLoad(authScenario, 'refresh_token', context) },
  { title: 'reservations', ...inventoryScenario, prepare: prepareReservations },
  { title: 'captures', ...paymentsScenario, prepare: (context) => findLoad(paymentsScenario, 'captures', context) },
]

const command = new Command('server-figures')
  .description('measure what one PostgreSQL carries of the most frequent write of each service')
  .option('--seconds <count>', 'length of a sample', positiveInteger, 20)
  .action(run)
await runCommand(command)

async function run({ seconds }: { readonly seconds: number }): Promise<void> {
  requirePrograms([DEBIAN_POSTGRES])
  say(['', 'a second', 'p50', 'p99', 'service', 'PostgreSQL'])
  for (const subject of subjects) {
    await using workplace = await openWorkplace('server-figures')
    await measure(workplace, subject, seconds)
  }
}

async function findLoad(scenario: typeof authScenario, part: string, context: ScenarioContext) {
  const endpoint = (await scenario.prepare(context)).find(({ name }) => name.includes(part))
  if (endpoint === undefined) throw new Error(`${scenario.service} has no load ${part}`)
  return () => endpoint.nextLoad(context.url)
}

async function prepareReservations({ url }: ScenarioContext): Promise<() => Promise<Load>> {
  const ids: string[] = []
  for (let nth = 1; nth <= PRODUCTS; nth += 1) {
    const { data } = Created.parse(await post(`${url}/products`, { sku: `FIGURE-${nth}`, attributes: '{}' }))
    await post(`${url}/movements`, { type: 'receive', productId: data.id, locationId: 1, quantity: STOCK })
    ids.push(String(data.id))
  }
  return async () => ({
    method: 'POST',
    path: '/reservations',
    connections: CONNECTIONS,
    tokens: ids,
    body: '{"productId":{token},"locationId":1,"quantity":1}',
  })
}

async function measure(workplace: Workplace, { title, service, env, prepare }: Subject, seconds: number) {
  const settings = { ...DURABLE, max_connections: 200 }
  const postgres = await startPostgres(workplace, {
    name: 'postgres',
    bin: POSTGRES_BIN,
    settings,
    password: undefined,
  })
  const databaseUrl = `postgres://${SUPERUSER}@127.0.0.1:${postgres.port}/trestle`
  await execute(databaseUrl.replace(/trestle$/, 'postgres'), 'CREATE DATABASE trestle')
  const { folder } = workplace
  const { runCommand: runOwn, start } = await deploy(service, { folder, databaseUrl, env })
  const server = await start()
  try {
    const { url } = server
    const ask = (statement: string) => execute(databaseUrl, statement)
    const nextLoad = await prepare({ url, runCommand: runOwn, execute: ask })
    const generate = createGenerator({ folder, cores: undefined })
    await tryLoad(url, await nextLoad())
    await generate(url, await nextLoad(), WARM_UP_SECONDS)
    const load = await nextLoad()
    const before = readUse(server, postgres)
    const { requestsPerSecond, p50Ms, p99Ms, errors } = await generate(url, load, seconds)
    const after = readUse(server, postgres)
    if (errors > 0) throw new Error(`${errors} ${title} failed`)
    const each = (name: keyof typeof after) =>
      `${((after[name] - before[name]) / (requestsPerSecond * seconds)).toFixed(2)} ms`
    say([
      ...[title, requestsPerSecond.toFixed(0), `${p50Ms.toFixed(1)} ms`, `${p99Ms.toFixed(1)} ms`],
      ...[each('service'), each('postgres')],
    ])
  } finally {
    await server.stop()
  }
}

function readUse(server: { processorMs(): number | undefined }, postgres: PostgresServer) {
  return { service: server.processorMs() ?? Number.NaN, postgres: postgres.processorMs() }
}

function say([title = '', ...columns]: readonly string[]): void {
  process.stdout.write(`${title.padEnd(16)}${columns.map((column) => column.padStart(12)).join('')}\n`)
}
