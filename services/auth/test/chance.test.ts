import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openTestApp } from './auth-app.ts'

// ASVS 6.5.3, 7.2.3
it('takes randomness only from the operating system', async () => {
  const { deps, close } = await openTestApp()
  await close()
  expect(deps.randomBytes).toBe(randomBytes)
  const sources = join(import.meta.dirname, '..', 'src')
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  expect(files.length).toBeGreaterThan(100)
  expect(files.filter((file) => readFileSync(join(sources, file), 'utf8').includes('Math.random'))).toEqual([])
})
