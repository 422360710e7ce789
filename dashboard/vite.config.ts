import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const outDir = join(import.meta.dirname, 'dist')

/** Compresses the files once, when they are built, and not at each request. */
function compress(): Plugin {
  return {
    name: 'compress',
    apply: 'build',
    closeBundle() {
      for (const file of readdirSync(outDir, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(?:js|css|html|svg)$/.test(file)) continue
        const path = join(outDir, file)
        writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path)))
      }
    },
  }
}

/** Fails the build if the scripts use a class of Mantine whose stylesheet `mantine.css` does not import. */
function checkStyles(): Plugin {
  return {
    name: 'check-styles',
    apply: 'build',
    generateBundle(_, bundle) {
      const files = Object.values(bundle)
      const css = files.flatMap((file) => (file.type === 'asset' ? [String(file.source)] : [])).join('')
      const code = files.flatMap((file) => (file.type === 'chunk' ? [file.code] : [])).join('')
      const used = code.match(/\bm_[\da-f]{6,8}\b/g)?.filter((name) => !css.includes(name)) ?? []
      const folder = join(import.meta.dirname, '../node_modules/@mantine/core/styles')
      const missing = readdirSync(folder).filter((file) => {
        const styles = file.endsWith('.layer.css') ? '' : readFileSync(join(folder, file), 'utf8')
        return used.some((name) => styles.includes(name))
      })
      if (missing.length > 0) this.error(`dashboard/src/mantine.css lacks ${missing.join(', ')}`)
    },
  }
}

export default defineConfig({
  root: import.meta.dirname,
  base: '/dashboard/',
  plugins: [react(), checkStyles(), compress()],
  // The SDK from its source: a checkout has not built it.
  resolve: { alias: { '@guiche/sdk': join(import.meta.dirname, '../sdk/src/index.ts') } },
  build: { outDir, emptyOutDir: true, target: 'es2022', modulePreload: { polyfill: false }, assetsInlineLimit: 0 },
  // The dashboard's own files come from Vite. The service answers everything else, also the dashboard's API.
  server: { proxy: { '^/(?!dashboard/(?!api/))': 'http://127.0.0.1:3000' } },
})
