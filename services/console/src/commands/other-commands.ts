import { type CommandLoaders, loadAll } from '@trestle/common/lifecycle/command-line.ts'
import { Command } from 'commander'
import type { ConsoleConfig } from '../config.ts'
import { VERSION } from '../version.ts'

interface OtherCommandsOptions {
  /** Called when a command runs, because `--help` needs no settings. */
  readonly load: () => ConsoleConfig
  readonly process: NodeJS.Process
}

export function otherCommands({ load, process }: OtherCommandsOptions): CommandLoaders {
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  const loaders: CommandLoaders = {
    'warm-up': async () => {
      const { warmUpCommand } = await import('@trestle/common/commands/warm-up-command.ts')
      return warmUpCommand(() => Promise.all([import('./serve.ts'), ...loadAll(loaders)]))
    },
    doctor: async () => {
      const { doctor } = await import('./doctor.ts')
      return new Command('doctor')
        .description('check settings, services and their operator keys, and say what to do')
        .action(async () => {
          if (!(await doctor(load, print))) process.exitCode = 1
        })
    },
    version: async () => new Command('version').description('print the version').action(() => print(VERSION)),
  }
  return loaders
}
