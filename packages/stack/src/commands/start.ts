import { createFirstOperator } from '../first-operator.ts'
import { followLogs, type LogFollower, showLastLines } from '../log-lines/show-logs.ts'
import { planStack, type StackPlan } from '../settings/plan.ts'
import { runStack, type StackControl, watchStopSignals } from '../stack.ts'
import { bannerLines } from '../status/banner.ts'
import type { CommandContext } from './command-context.ts'
import { fillDemo } from './demo.ts'

export interface StartOptions {
  readonly names: readonly string[]
  readonly isWatched: boolean
  /** Whether to fill the services with demo data of a shop. */
  readonly isDemo: boolean
  /** The commands of the program. They help to explain a name that is not a service. */
  readonly commands: readonly string[]
}

/**
 * Starts the stack and keeps it running until Ctrl-C.
 *
 * @throws StackFailure if it cannot start or stay up
 */
export async function start(context: CommandContext, options: StartOptions): Promise<void> {
  const { say, ...given } = context
  const { names, isWatched, isDemo, commands } = options
  const stop = watchStopSignals({ isUnderNpm: process.env.npm_lifecycle_event !== undefined })
  const plan = planStack({ ...given, names, isWatched, commands })
  let requests: LogFollower | undefined
  await runStack(plan, {
    // Print the last lines of a service before the line about its end.
    say: (line) => {
      requests?.showNew()
      say(line)
    },
    stop,
    fill: async (status) => {
      await createFirstOperator({ status, root: plan.root, dataDirectory: plan.dataDirectory })
      if (isDemo) await fillDemo({ status, root: plan.root, dataDirectory: plan.dataDirectory, say })
    },
    whenReady: async (status) => {
      for (const line of bannerLines(status, plan)) say(line)
      say('')
      say('Trestle is ready')
      if (!isWatched) return
      requests = followRequests(plan, say)
      await requests.showAll(stop)
    },
  })
}

/** Shows each new request and message, like the command `logs`. */
function followRequests(plan: StackPlan, say: StackControl['say']): LogFollower {
  const names = plan.services.map(({ definition }) => definition.name)
  const options = { directory: plan.logDirectory, names, onlyErrors: false, say }
  return followLogs(options, showLastLines(options, 0))
}
