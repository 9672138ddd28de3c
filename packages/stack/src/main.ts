import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// The program of `npm start`. It ends the process with status 0 after Ctrl-C, or 1 if something could not start or stay up.

const root = join(import.meta.dirname, '..', '..', '..')
// Cache compiled modules. Otherwise half of the time until the first output goes into compilation.
enableCompileCache(join(root, 'node_modules', '.cache', 'node'))
const { Command, InvalidArgumentError, Option } = await import('commander')
const { readUserEnvironment } = await import('./settings/environment.ts')
const { describePorts } = await import('./settings/ports.ts')
const { StackFailure } = await import('./stack-failure.ts')

/** The exit status of a wrong command line, as in the services. */
const USAGE = 2

const commandContext = () => ({
  root,
  program: join('packages', 'stack', 'src', 'main.ts'),
  env: readUserEnvironment(join(root, '.env'), process.env),
  say: (line: string) => void process.stdout.write(`${line}\n`),
})

const program = new Command('npm start --')
  .description('Runs Trestle on this machine: an embedded PostgreSQL, a mail catcher, the services and the console.')
  .addHelpText('after', describePorts())
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : USAGE))

program
  .command('start', { isDefault: true })
  .description('start everything, until Ctrl-C (also without a command)')
  .argument('[services...]', 'auth, payments, inventory, console; all of them when none is named')
  .option('--watch', 'restart a service whenever one of its files changes')
  .option('--demo', 'fill the services with a shop, its customers and its payments')
  .action((names: string[], { watch, demo }: { watch?: true; demo?: true }) =>
    run(async () => {
      const { start } = await import('./commands/start.ts')
      const commands = program.commands.map((command) => command.name())
      await start(commandContext(), { names, isWatched: watch === true, isDemo: demo === true, commands })
    }),
  )

program
  .command('status')
  .description('print the addresses and keys of the running stack, secrets of development among them')
  .addOption(
    new Option('-o, --output <format>', 'for people; export lines for eval in sh and for --env-file; or JSON')
      .choices(['pretty', 'env', 'json'])
      .default('pretty'),
  )
  .addOption(
    new Option(
      '--wait [seconds]',
      'wait until every service is ready and a demo is filled, for so many seconds at most',
    )
      .argParser(readSeconds)
      .preset('120'),
  )
  .action(({ output, wait }: { output: 'pretty' | 'env' | 'json'; wait?: number }) =>
    run(async () => {
      const { printStatus } = await import('./commands/status.ts')
      await printStatus(commandContext(), output, wait === undefined ? undefined : wait * 1_000)
    }),
  )

program
  .command('stop')
  .description('stop the stack that runs from this checkout, and wait until it has ended')
  .action(() =>
    run(async () => {
      const { stopStack } = await import('./commands/stop.ts')
      await stopStack(commandContext())
    }),
  )

program
  .command('logs')
  .description('show the logs, one line a request, and follow them until Ctrl-C')
  .argument('[services...]', 'auth, payments, inventory, console, postgres; all but postgres when none is named')
  .option('--errors', 'only requests that were refused or failed, warnings, and errors')
  .option('-n, --lines <count>', 'how many older lines', readCount, 20)
  .option('--no-follow', 'only the older lines')
  .action((names: string[], options: { errors?: true; lines: number; follow: boolean }) =>
    run(async () => {
      const { showLogs } = await import('./commands/logs.ts')
      const { errors, lines: lineCount, follow: isFollowed } = options
      await showLogs(commandContext(), { names, onlyErrors: errors === true, lineCount, isFollowed })
    }),
  )

await program.parseAsync(process.argv)

function readCount(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number of lines.')
}

function readSeconds(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number of seconds from 1 to 9999.')
}

/** Runs a command and ends the process, because timers or sockets of a library could keep it running. */
async function run(command: () => Promise<void>): Promise<never> {
  try {
    await command()
    process.exit(0)
  } catch (error) {
    if (!(error instanceof StackFailure)) throw error
    for (const problem of error.problems) process.stderr.write(`${problem}\n`)
    process.exit(1)
  }
}
