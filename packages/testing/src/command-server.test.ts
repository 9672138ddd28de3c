import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type CommandServer, startCommandServer } from './command-server.ts'
import { createFolder, removeFoldersAtEnd } from './temporary-folder.ts'

removeFoldersAtEnd()

const cwd = realpathSync(createFolder())
let server: CommandServer
beforeAll(async () => {
  server = await startCommandServer()
})
afterAll(() => server.stop())

it.each([
  ['a command that ends', 'console.log("done")', { status: 0, stdout: 'done\n', stderr: '' }],
  [
    'arguments, environment, folder',
    'console.log(JSON.stringify([process.argv.slice(2), process.env, process.cwd()]))',
    { status: 0, stdout: `${JSON.stringify([['', 'a b'], { A: 'b=c\nd' }, cwd])}\n`, stderr: '' },
  ],
  [
    'both outputs in UTF-8',
    'process.stderr.write("é\\n"); process.stdout.write("😀")',
    { status: 0, stdout: '😀', stderr: 'é\n' },
  ],
  [
    'work after its module',
    'setTimeout(() => { console.log("late"); process.exitCode = 4 }, 1)',
    { status: 4, stdout: 'late\n', stderr: '' },
  ],
  [
    'an exit in the middle',
    'try { process.exit(3) } finally { console.error("after") }',
    { status: 3, stdout: '', stderr: '' },
  ],
  [
    'an exit in a callback',
    'setImmediate(() => { process.exit(3); console.log("after") })',
    { status: 3, stdout: '', stderr: '' },
  ],
  ['an error', 'throw "broken"', { status: 1, stdout: '', stderr: 'broken\n' }],
  ['a promise that nothing settles', 'await new Promise(() => {})', { status: 13, stdout: '', stderr: '' }],
])('answers as a process of its own would: %s', async (_name, code, ended) => {
  const file = join(cwd, 'main.mjs')
  writeFileSync(file, code)
  expect(await server.run(file, ['', 'a b'], { cwd, env: { A: 'b=c\nd' } })).toEqual(ended)
})

it('answers clients that come at once', async () => {
  const file = join(cwd, 'waits.mjs')
  writeFileSync(file, 'setTimeout(() => console.log(process.argv[2]), 1)')
  const ended = await Promise.all(['a', 'b'].map((word) => server.run(file, [word], { cwd, env: {} })))
  expect(ended).toEqual(['a', 'b'].map((word) => ({ status: 0, stdout: `${word}\n`, stderr: '' })))
})
