import { EventEmitter } from 'node:events'
import { Command } from 'commander'
import { expect, it } from 'vitest'
import { runCommandLine } from './command-line.ts'

it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
])('%s ends a command that runs, also as the first process of a container', (signal, status) => {
  const exits: number[] = []
  const process = Object.assign(new EventEmitter(), {
    argv: ['node', 'main.ts'],
    exit: (code: number) => void exits.push(code),
  })
  const program = new Command().action(() => new Promise(() => {}))
  void runCommandLine(program, process as unknown as NodeJS.Process)
  process.emit(signal)
  expect(exits).toEqual([status])
})
