import { join } from 'node:path'
import { Command } from 'commander'
import { readUserEnvironment } from './settings/environment.ts'
import { planStack } from './settings/plan.ts'
import { runStack } from './stack.ts'
import { StackFailure } from './stack-failure.ts'
import { watchStopSignals } from './stop-signal.ts'

/** Exit status of a wrong command line, as in the services. */
const USAGE = 2
const root = join(import.meta.dirname, '..', '..', '..')

async function start(names: readonly string[], isWatched: boolean): Promise<void> {
  const stop = watchStopSignals(process.env.npm_lifecycle_event !== undefined)
  const env = readUserEnvironment(join(root, '.env'), process.env)
  const program = join('packages', 'stack', 'src', 'main.ts')
  try {
    const plan = planStack({ root, program, env, names, isWatched })
    await runStack(plan, { say: (line) => process.stdout.write(`${line}\n`), stop })
  } catch (error) {
    if (!(error instanceof StackFailure)) throw error
    for (const problem of error.problems) process.stderr.write(`${problem}\n`)
    process.exitCode = 1
  }
  // Whatever a library still holds open must not keep the terminal.
  process.exit()
}

const program = new Command('npm start --')
  .description('Starts Trestle: an embedded PostgreSQL, a mail catcher and the services, until Ctrl-C.')
  .argument('[services...]', 'auth, payments, inventory; all of them when none is named')
  .option('--watch', 'start a service anew whenever one of its files changes')
  .action((names: string[], options: { watch?: true }) => start(names, options.watch === true))
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : USAGE))

await program.parseAsync()
