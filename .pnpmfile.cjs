// Some packages name their platform as a text where pnpm reads a list, and would be installed on every platform.
const PLATFORM = /^node-(linux|win)-(x64|arm64)$/

module.exports = {
  hooks: {
    readPackage(manifest) {
      if (PLATFORM.test(manifest.name))
        Object.assign(manifest, { os: [manifest.os].flat(), cpu: [manifest.cpu].flat() })
      return manifest
    },
  },
}
