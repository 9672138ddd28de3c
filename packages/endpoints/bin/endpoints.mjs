#!/usr/bin/env node
// Installed from npm there is a build; in a checkout the sources run as they are.
import { existsSync } from 'node:fs'

const build = new URL('../dist/main.js', import.meta.url)
await import(existsSync(build) ? build.href : '../src/main.ts')
