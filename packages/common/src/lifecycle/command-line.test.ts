import { EventEmitter } from 'node:events'
import { Command } from 'commander'
import { expect, it } from 'vitest'
import { runCommandLine } from './command-line.ts'

/** A process with these arguments. It records its exits instead of ending. */
function startedWith(...words: readonly string[]) {
  const exits: number[] = []
  const reports: string[] = []
  const exit = (code: number): never => {
    exits.push(code)
    // As after a real exit, nothing more runs.
    throw new Error('exited')
  }
  const stdout = new EventEmitter()
  const stderr = { write: (text: string) => void reports.push(text) }
  const process = Object.assign(new EventEmitter(), { argv: ['node', 'main.ts', ...words], exit, stdout, stderr })
  return { exits, reports, stdout, process }
}

it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s ends a command that runs, also as the first process of a container', (signal, status) => {
  const { exits, process } = startedWith()
  void runCommandLine(new Command(), process, { serve: () => new Promise(() => {}), loadOthers: async () => ({}) })
  expect(() => process.emit(signal)).toThrow('exited')
  expect(exits).toEqual([status])
})

it.each([
  [[], ['serve']],
  [['serve'], ['serve']],
  [['doctor'], ['load', 'load doctor', 'doctor']],
  [
    ['-c', 'file', 'doctor'],
    ['load', 'load doctor', 'load version', 'doctor'],
  ],
])('loads the other commands only when one of them runs: %j', async (words, expected) => {
  const calls: string[] = []
  const loader = (name: string) => async () => {
    calls.push(`load ${name}`)
    return new Command(name).action(() => void calls.push(name))
  }
  await runCommandLine(new Command().option('-c <file>'), startedWith(...words).process, {
    serve: async () => void calls.push('serve'),
    loadOthers: async () => {
      calls.push('load')
      return { doctor: loader('doctor'), version: loader('version') }
    },
  })
  expect(calls).toEqual(expected)
})

it.each([
  ['EPIPE', { exits: [141], reports: [] }],
  ['ENOSPC', { exits: [1], reports: ['write ENOSPC\n'] }],
])('ends a command when its output cannot be written: %s', async (code, expected) => {
  const { exits, reports, stdout, process } = startedWith('doctor')
  const fail = () => stdout.emit('error', Object.assign(new Error(`write ${code}`), { code }))
  await runCommandLine(new Command(), process, {
    serve: async () => {},
    loadOthers: async () => ({
      doctor: async () => new Command('doctor').action(() => expect(fail).toThrow('exited')),
    }),
  })
  expect({ exits, reports }).toEqual(expected)
})
