import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findMissing } from './toolchains.ts'

it('names each toolchain that is not on the path or fails, once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trestle-toolchains-'))
  for (const [name, status] of [
    ['good', 0],
    ['old', 1],
  ] as const) {
    writeFileSync(join(folder, name), `#!/bin/sh\nexit ${status}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  const named = (program: string) => ({ name: `a ${program} one`, program, args: ['--version'] })
  const toolchains = ['good', 'old', 'absent', 'absent'].map(named)
  expect(await findMissing(toolchains, folder)).toEqual(['a old one', 'a absent one'])
})
