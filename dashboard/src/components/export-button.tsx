import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { texts, useText } from '../text.ts'
import { ErrorNotice } from './error-notice.tsx'
import { IconOf } from './icons.tsx'

const words = texts({
  en: { export: 'Export CSV', exporting: (size: string) => `Exporting, ${size}` },
  pt: { export: 'Exportar CSV', exporting: (size: string) => `Exportando, ${size}` },
})

/** Saves all records that match the filters as a file, and shows the progress. */
export function ExportButton({ name, download }: { name: string; download: () => Promise<Response> }) {
  const t = useText(words)
  const [size, setSize] = useState(0)
  const saving = useMutation({
    mutationFn: async () => {
      setSize(0)
      const response = await download()
      const parts: BlobPart[] = []
      const reader = response.body?.getReader()
      for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
        const { value } = read
        parts.push(value)
        setSize((before) => before + value.length)
      }
      save(new Blob(parts, { type: 'text/csv' }), `${name}.csv`)
    },
  })
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconOf name="download" size={16} />}
        onClick={() => saving.mutate()}
        disabled={saving.isPending}
        aria-live="polite"
      >
        {saving.isPending ? t.exporting(`${(size / 1024 / 1024).toFixed(1)} MB`) : t.export}
      </Button>
      {saving.isError && <ErrorNotice error={saving.error} onRetry={() => saving.mutate()} />}
    </>
  )
}

function save(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
