import { type Browser, chromium } from 'playwright-core'
import { findProgram } from './find-program.ts'

/** Starts Chromium. By default uses the program in the `PATH`. */
export function startChromium(program = findProgram('chromium') ?? ''): Promise<Browser> {
  // Chromium's sandbox does not work in a container.
  return chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-quic'] })
}
