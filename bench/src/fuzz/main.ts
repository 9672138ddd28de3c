import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { createBenchFolder, positiveInteger, runCommand, say } from '../program.ts'
import { openDatabaseServer } from '../servers/database.ts'
import { type FuzzResult, fuzzService } from './fuzz-service.ts'
import { authTarget } from './targets/auth.ts'
import { inventoryTarget } from './targets/inventory.ts'
import { paymentsTarget } from './targets/payments.ts'
import { toCurl } from './wire.ts'

const SEED_MAX = 0x7fffffff
const targets = [inventoryTarget, authTarget, paymentsTarget]

const command = new Command('pnpm fuzz')
  .description('Sends the services requests made from their API documents: valid, nearly valid and hostile ones.')
  .argument('[services...]', `${targets.map(({ service }) => service).join(', ')}; all by default`)
  .option(
    '--seed <number>',
    'the same seed sends the same requests',
    positiveInteger,
    Math.ceil(Math.random() * SEED_MAX),
  )
  .option('--requests <number>', 'requests to each service', positiveInteger, 20_000)
  .action(run)

async function run(names: readonly string[], { seed, requests }: { readonly seed: number; readonly requests: number }) {
  const unknown = names.filter((name) => !targets.some(({ service }) => service === name))
  if (unknown.length > 0) throw new Error(`unknown services: ${unknown.join(', ')}`)
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())
  const folder = createBenchFolder()
  try {
    await using started = new AsyncDisposableStack()
    const url = process.env.BENCH_DATABASE_URL
    const database = await openDatabaseServer({ url, folder: join(folder, 'postgres'), cores: undefined })
    started.defer(database.close)
    for (const target of targets.filter(({ service }) => names.length === 0 || names.includes(service))) {
      say(`${target.service}: seed ${seed}`)
      const result = await fuzzService(target, { folder, database, seed, requests, stop: stop.signal })
      for (const line of reportLines(target.service, result)) say(line)
      if (result.findings.length + result.unreached.length > 0) process.exitCode = 1
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function reportLines(
  service: string,
  { url, sent, findings, memory, counts, unreached }: FuzzResult,
): readonly string[] {
  const sums = new Map<string, number>()
  for (const classes of counts.values()) {
    for (const [kind, count] of classes) sums.set(kind, (sums.get(kind) ?? 0) + count)
  }
  const statuses = [...sums].sort().map(([kind, count]) => `${count} ${kind}`)
  const [before, after] = memory.map((mib) => (mib === undefined ? '?' : mib.toFixed(0)))
  return [
    ...findings.flatMap(({ operation, problem, count, first, request, answer }) => [
      `${operation} ${problem} (${count} times, first at request ${first})`,
      ...(request.method === '' ? [] : [`  ${toCurl(url, request)}`]),
      ...(answer === '' ? [] : [`  ${answer.replaceAll('\n', '\n  ')}`]),
    ]),
    ...unreached.map((operation) => `${operation} was never reached: no request succeeded`),
    [
      `${service}: ${sent} requests (${statuses.join(', ')})`,
      `memory ${before} to ${after} MiB`,
      `${unreached.length} operations unreached`,
      `${findings.length} findings`,
    ].join(', '),
  ]
}

await runCommand(command)
