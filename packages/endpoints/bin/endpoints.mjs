// The npm package contains a build. In a checkout the sources run directly.
import { existsSync } from 'node:fs'

const build = new URL('../dist/main.js', import.meta.url)
await import(existsSync(build) ? build.href : '../src/main.ts')
