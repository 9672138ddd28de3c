import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createBenchFolder } from '../program.ts'
import { openDatabaseServer } from '../servers/database.ts'
import { deploy } from '../servers/deployment.ts'
import { installPaylike } from './paylike/client.ts'
import { seedFile } from './paylike/seed.ts'
import { steps } from './paylike/steps.ts'

// Runs the published npm client `paylike` through each of its methods, against payments over a seeded database: `node
// bench/src/conformance/paylike.ts`. The client is installed from the registry into a folder outside the project. Exit status 1
// when a step fails.

const folder = createBenchFolder()

try {
  await using started = new AsyncDisposableStack()
  const database = await openDatabaseServer({ url: process.env.BENCH_DATABASE_URL, folder: join(folder, 'postgres') })
  started.defer(database.close)
  const deployment = await deploy('payments', {
    folder,
    databaseUrl: await database.create('trestle_bench_paylike'),
    env: { PAYMENTS_ALLOW_SEED: 'yes' },
  })
  const file = join(folder, 'seed.json')
  writeFileSync(file, JSON.stringify(seedFile))
  await deployment.runCommand('seed', file)
  const server = await deployment.start()
  started.defer(server.stop)
  const outside = join(folder, 'client')
  mkdirSync(outside)
  const Paylike = await installPaylike(outside)
  const { url } = server
  const paylike = Paylike(seedFile.apps[0]?.key, { url })
  for (const [name, step] of Object.entries(steps)) {
    const problem = await step({ Paylike, paylike, url }).then(
      () => undefined,
      (error: unknown) => error,
    )
    process.stdout.write(problem === undefined ? `ok    ${name}\n` : `FAIL  ${name}\n${problem}\n`)
    if (problem !== undefined) process.exitCode = 1
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
