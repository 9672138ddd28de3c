import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// What `npm start` runs. It ends the process: with status 0 after a Ctrl-C, 1 when something could not start or stay up.

const root = join(import.meta.dirname, '..', '..', '..')
// Half of the time until the first line is printed would go into compiling modules. The imports below use the cache.
enableCompileCache(join(root, 'node_modules', '.cache', 'node'))
const { Command } = await import('commander')
const { readUserEnvironment } = await import('./settings/environment.ts')
const { planStack } = await import('./settings/plan.ts')
const { runStack, watchStopSignals } = await import('./stack.ts')
const { StackFailure } = await import('./stack-failure.ts')

/** Exit status of a wrong command line, as in the services. */
const USAGE = 2

await new Command('npm start --')
  .description('Starts Trestle: an embedded PostgreSQL, a mail catcher and the services, until Ctrl-C.')
  .argument('[services...]', 'auth, payments, inventory; all of them when none is named')
  .option('--watch', 'restart a service whenever one of its files changes')
  .action(async (names: string[], options: { watch?: true }) => {
    const isStarted = await start(names, options.watch === true)
    // Timers or sockets that a library keeps open must not keep the terminal.
    process.exit(isStarted ? 0 : 1)
  })
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : USAGE))
  .parseAsync(process.argv)

/** @returns false when the stack could not start or stay up. The reasons are on standard error then */
async function start(names: readonly string[], isWatched: boolean): Promise<boolean> {
  const stop = watchStopSignals(process.env.npm_lifecycle_event !== undefined)
  const env = readUserEnvironment(join(root, '.env'), process.env)
  const program = join('packages', 'stack', 'src', 'main.ts')
  try {
    const plan = planStack({ root, program, env, names, isWatched })
    await runStack(plan, { say: (line) => process.stdout.write(`${line}\n`), stop })
    return true
  } catch (error) {
    if (!(error instanceof StackFailure)) throw error
    for (const problem of error.problems) process.stderr.write(`${problem}\n`)
    return false
  }
}
