import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openBench } from '../bench.ts'
import { seedFile } from '../fixtures.ts'
import { say } from '../program.ts'
import { installPaylike, steps } from './paylike/steps.ts'

// Calls each method of the published npm client `paylike`, against payments with a seeded database: `node
// bench/src/conformance/paylike.ts`. The client is installed from the registry into a folder outside the project. Exit status 1
// if a step fails.

await using bench = await openBench()
const payments = await bench.deploy('payments', { env: { PAYMENTS_ALLOW_SEED: 'yes' } })
const file = join(bench.folder, 'seed.json')
writeFileSync(file, JSON.stringify(seedFile))
await payments.runCommand('seed', file)
const { url } = await payments.serve()
const outside = join(bench.folder, 'client')
mkdirSync(outside)
const Paylike = await installPaylike(outside)
const paylike = Paylike(seedFile.apps[0]?.key, { url })
for (const [name, step] of Object.entries(steps)) {
  const problem = await step({ Paylike, paylike, url }).then(
    () => undefined,
    (error: unknown) => error,
  )
  say(problem === undefined ? `ok    ${name}` : `FAIL  ${name}\n${problem}`)
  if (problem !== undefined) process.exitCode = 1
}
