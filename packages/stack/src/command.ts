import { join } from 'node:path'
import { Command } from 'commander'
import { readUserEnvironment } from './settings/environment.ts'
import { planStack } from './settings/plan.ts'
import { runStack } from './stack.ts'
import { StackFailure } from './stack-failure.ts'
import { watchStopSignals } from './stop-signal.ts'

/** Exit status of a wrong command line, as in the services. */
const USAGE = 2

/**
 * What `npm start` runs. Ends the process: status 0 after a Ctrl-C, 1 when something could not start or stay up.
 *
 * @param root the checkout
 */
export async function runStackCommand(root: string, process: NodeJS.Process): Promise<void> {
  await new Command('npm start --')
    .description('Starts Trestle: an embedded PostgreSQL, a mail catcher and the services, until Ctrl-C.')
    .argument('[services...]', 'auth, payments, inventory; all of them when none is named')
    .option('--watch', 'start a service anew whenever one of its files changes')
    .action(async (names: string[], options: { watch?: true }) => {
      const hasFailed = !(await start({ root, names, isWatched: options.watch === true }, process))
      // Whatever a library still holds open must not keep the terminal.
      process.exit(hasFailed ? 1 : 0)
    })
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : USAGE))
    .parseAsync(process.argv)
}

interface StartRequest {
  readonly root: string
  readonly names: readonly string[]
  readonly isWatched: boolean
}

/** False when the stack could not start or stay up; the reasons are then on stderr. */
async function start({ root, names, isWatched }: StartRequest, process: NodeJS.Process): Promise<boolean> {
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
