import { join } from 'node:path'
import { Command } from 'commander'
import { readUserEnvironment } from './settings/environment.ts'
import { planStack } from './settings/plan.ts'
import { runStack } from './stack.ts'
import { StackFailure } from './stack-failure.ts'
import { watchStopSignals } from './stop-signal.ts'

const root = join(import.meta.dirname, '..', '..', '..')

const command = new Command('npm start --')
  .description('Starts Trestle: an embedded PostgreSQL, a mail catcher and the services, until Ctrl-C.')
  .argument('[services...]', 'auth, payments, inventory; all of them when none is named')
  .option('--watch', 'start a service anew whenever one of its files changes')
  .action(async (names: string[], options: { watch?: true }) => {
    const stop = watchStopSignals(process.env.npm_lifecycle_event !== undefined)
    const plan = planStack({
      root,
      program: join('packages', 'stack', 'src', 'main.ts'),
      env: readUserEnvironment(join(root, '.env'), process.env),
      names,
      isWatched: options.watch === true,
    })
    await runStack(plan, { say: (line) => process.stdout.write(`${line}\n`), stop })
  })

try {
  await command.parseAsync()
} catch (error) {
  const problems =
    error instanceof StackFailure ? error.problems : [error instanceof Error ? error.stack : String(error)]
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  process.exitCode = 1
}
// Whatever a library still holds open must not keep the terminal.
process.exit()
