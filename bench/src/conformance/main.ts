import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { createBenchFolder, positiveInteger, ROOT, runCommand, say } from '../program.ts'
import { openDatabaseServer } from '../servers/database.ts'
import { type AcceptedFailure, type Failure, judge, readAccepted } from './failures.ts'
import { runs, tryRun, type Workplace } from './runs.ts'
import { installTools } from './tools.ts'

// Compares each service with its API document, with third-party tools: `scripts/try-openapi [--seed 4242] [--examples 100]
// [--keep] [service…]`. Two validators read the document. Then schemathesis sends requests made from it, with all checks and
// phases, without credentials and with each kind of credentials. Exit status 1 if a validator complains, or if a failure is not
// listed with its reason in conformance/accepted/<service>.json. It needs Python 3.10 or later and installs the tools from PyPI
// into a temporary folder.

const SERVICES = ['inventory', 'auth', 'payments']

const command = new Command('scripts/try-openapi')
  .description('Compares each service with its API document, by validators and by schemathesis.')
  .argument('[services...]', `${SERVICES.join(', ')}; all by default`)
  .option('--seed <number>', 'the same seed sends the same requests', positiveInteger, 4242)
  .option('--examples <number>', 'examples for each operation', positiveInteger, 100)
  .option('--only <run>', 'only the run of this name, such as "user"')
  .option('--keep', 'keep the reports and say where they are')
  .action(run)

interface Options {
  readonly seed: number
  readonly examples: number
  readonly only?: string
  readonly keep?: boolean
}

async function run(names: readonly string[], options: Options) {
  const unknown = names.filter((name) => !SERVICES.includes(name))
  if (unknown.length > 0) throw new Error(`unknown services: ${unknown.join(', ')}; there are ${SERVICES.join(', ')}`)
  const folder = createBenchFolder()
  try {
    const tools = await installTools(folder)
    await using started = new AsyncDisposableStack()
    const url = process.env.BENCH_DATABASE_URL
    const database = await openDatabaseServer({ url, folder: join(folder, 'postgres'), cores: undefined })
    started.defer(database.close)
    for (const service of SERVICES.filter((each) => names.length === 0 || names.includes(each))) {
      const problems = await tryService(service, { ...options, folder, tools, database })
      if (problems > 0) process.exitCode = 1
    }
  } finally {
    if (options.keep) say(`the reports are in ${folder}`)
    else rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the number of problems of a service. */
async function tryService(service: string, workplace: Workplace & Options): Promise<number> {
  const document = join(ROOT, 'docs', 'openapi', `${service}.json`)
  const complaints = await workplace.tools.validate(document)
  for (const complaint of complaints) say(`${service}: ${complaint}`)
  const accepted = readAccepted(service)
  const seen = new Set<AcceptedFailure>()
  let problems = complaints.length
  const wanted = runs.filter((each) => each.service === service && (workplace.only ?? each.name) === each.name)
  for (const each of wanted) {
    const startedMs = performance.now()
    const { failures, summary, withoutExample } = await tryRun(each, document, workplace)
    const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1)
    const { unexpected, expected } = judge(failures, accepted)
    for (const entry of expected) seen.add(entry)
    for (const line of unexpected.flatMap(describeFailure)) say(line)
    for (const name of withoutExample) say(`${name}: its body has no example`)
    const found = `${failures.length} failures, ${unexpected.length} of them unexpected`
    say(`${service} ${each.name}: ${summary}, ${found}, in ${minutes} minutes`)
    problems += unexpected.length + withoutExample.length
  }
  // A shorter run may not cause every accepted failure.
  if (workplace.only !== undefined) return problems
  for (const { operation, check, code } of accepted.filter((entry) => !seen.has(entry)))
    say(`${service}: no run met the accepted failure ${check} of ${operation} with ${code}`)
  return problems
}

function describeFailure({ operation, check, code, message, request, count }: Failure): readonly string[] {
  return [`${operation}: ${check}, ${code} (${count} times)`, `  ${message.replaceAll('\n', ' ')}`, `  ${request}`]
}

await runCommand(command)
