import { terminalOf } from '@trestle/common/commands/table.ts'
import { type CommandLoaders, loadAll } from '@trestle/common/lifecycle/command-line.ts'
import { Command } from 'commander'
import type { InventoryConfig } from '../config.ts'
import { VERSION } from '../version.ts'

interface OtherCommandsOptions {
  /** Loads the settings when a command runs, because `--help` needs none. */
  readonly load: () => InventoryConfig
  readonly process: NodeJS.Process
}

export function otherCommands({ load, process }: OtherCommandsOptions): CommandLoaders {
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  const operatorOf = async (command: string) => {
    const { openOperatorDatabase } = await import('../open-database.ts')
    return { open: () => openOperatorDatabase(load(), command), print, terminal: terminalOf(process.stdout) }
  }
  const loaders: CommandLoaders = {
    migrate: async () => {
      const { migrateCommand } = await import('@trestle/service/migrate-command.ts')
      const { migrateOptions } = await import('../migrations.ts')
      return migrateCommand(() => migrateOptions(load()), print)
    },
    'warm-up': async () => {
      const { warmUpCommand } = await import('@trestle/common/commands/warm-up-command.ts')
      const { loadLibraries } = await import('@trestle/jobs/queue.ts')
      return warmUpCommand(() =>
        Promise.all([
          loadLibraries(),
          import('./serve.ts'),
          import('../access/token-verifier.ts'),
          ...loadAll(loaders),
        ]),
      )
    },
    locations: async () => (await import('./locations.ts')).locationsCommand(await operatorOf('locations')),
    stock: async () => (await import('./stock.ts')).stockCommand(await operatorOf('stock')),
    import: async () => (await import('./transfer.ts')).importCommand(load, process),
    export: async () => (await import('./transfer.ts')).exportCommand(load, process),
    seed: async () => (await import('./seed.ts')).seedCommand(load, print),
    doctor: async () => {
      const { doctor } = await import('./doctor.ts')
      return new Command('doctor')
        .description(
          'check settings, log file, database, standby, migrations, stock, dead jobs, rate limit and keys of tokens, and say what to do',
        )
        .action(async () => {
          if (!(await doctor(load, print))) process.exitCode = 1
        })
    },
    version: async () => new Command('version').description('print the version').action(() => print(VERSION)),
  }
  return loaders
}
