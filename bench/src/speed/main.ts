import { rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { Command } from 'commander'
import { ROOT } from '../bench.ts'
import { createBenchFolder } from '../bench-folder.ts'
import { positiveInteger, runCommand } from '../command-line.ts'
import { canPin, divideCores, moveToCores } from '../servers/cores.ts'
import { openDatabaseServer } from '../servers/database.ts'
import { hasService } from '../servers/deployment.ts'
import { authScenario } from './auth.ts'
import { inventoryScenario } from './inventory.ts'
import { createAutocannon } from './load/autocannon.ts'
import type { LoadGenerator } from './load/load.ts'
import { createWrk, hasWrk } from './load/wrk.ts'
import { measureService, type ServiceResult } from './measure-service.ts'
import { paymentsScenario } from './payments.ts'
import { countErrors, reportLines } from './report.ts'

interface Options {
  readonly seconds: number
  readonly rounds: number
  readonly checkout: string
  readonly json?: string
  readonly profile?: string
}

const scenarios = [inventoryScenario, authScenario, paymentsScenario]

const command = new Command('pnpm bench')
  .description('Loads the services, each beside a minimal reference server, and compares with the goals.')
  .argument('[services...]', `${scenarios.map(({ service }) => service).join(', ')}; all by default`)
  .option('--seconds <number>', 'seconds of one sample', positiveInteger, 4)
  .option('--rounds <number>', 'samples of each side', positiveInteger, 5)
  .option('--checkout <folder>', 'measure the services of another checkout', ROOT)
  .option('--json <file>', 'write all results')
  .option('--profile <folder>', 'write a CPU profile of each service; it costs speed')
  .action(run)

async function run(names: readonly string[], options: Options): Promise<void> {
  const { seconds, rounds, checkout, json } = options
  const chosen = choose(names, resolve(checkout))
  const coreCount = availableParallelism()
  const cores = canPin() ? divideCores(coreCount) : undefined
  if (cores) moveToCores(process.pid, cores.load)
  const folder = createBenchFolder()
  const createGenerator = hasWrk() ? createWrk : createAutocannon
  const generate = stoppable(createGenerator({ folder, cores: cores?.load }))
  const results: ServiceResult[] = []
  say(
    `${coreCount} cores${cores ? ', the server alone on one' : ', nothing pinned'}; load by ${hasWrk() ? 'wrk' : 'autocannon'}`,
  )
  say(`${rounds} rounds of ${seconds} s; ratios are medians of paired rounds`)
  try {
    const database = await openDatabaseServer({
      url: process.env.BENCH_DATABASE_URL,
      folder: join(folder, 'postgres'),
      cores: cores?.database,
    })
    try {
      for (const scenario of chosen) {
        const result = await measureService(scenario, {
          checkout: resolve(checkout),
          folder,
          database,
          generate,
          rounds: { count: rounds, seconds },
          cores,
          coreCount,
          profileFolder: options.profile && resolve(options.profile),
        })
        results.push(result)
        for (const line of reportLines(result)) say(line)
      }
    } finally {
      await database.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ coreCount, seconds, rounds, results }, null, 2)}\n`)
  const errors = results.reduce((sum, result) => sum + countErrors(result), 0)
  if (errors > 0) throw new Error(`${errors} requests failed: the figures mean nothing`)
}

/** A Ctrl-C ends the run before the next load, so that nothing keeps running. */
function stoppable(generate: LoadGenerator): LoadGenerator {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => stop.abort(new Error('stopped before the end')))
  }
  return async (...args) => {
    stop.signal.throwIfAborted()
    return generate(...args)
  }
}

function choose(names: readonly string[], checkout: string) {
  const unknown = names.filter((name) => !scenarios.some(({ service }) => service === name))
  if (unknown.length > 0) throw new Error(`unknown services: ${unknown.join(', ')}`)
  return scenarios.filter(
    ({ service }) => (names.length === 0 || names.includes(service)) && hasService(checkout, service),
  )
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

await runCommand(command)
