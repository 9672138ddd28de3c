import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { unlicensedPackages } from './unlicensed-packages.ts'

const path = 'services/shop/package.json'
const problem = {
  path,
  message: 'depends on @paylike/request, which declares no licence: only tests and examples may use it',
}

it.each([
  [{ devDependencies: { '@paylike/request': 'catalog:' } }, []],
  [{ dependencies: { '@paylike/request': 'catalog:' } }, [problem]],
  [{ optionalDependencies: { '@paylike/request': '3.0.2' } }, [problem]],
])('lets tests and examples alone use packages without a licence: %j', async (manifest, problems) => {
  const root = mkdtempSync(join(tmpdir(), 'layout-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'services/shop'), { recursive: true })
  writeFileSync(join(root, path), JSON.stringify({ name: 'shop', ...manifest }))
  expect(await unlicensedPackages({ root, files: [] })).toEqual(problems)
})
