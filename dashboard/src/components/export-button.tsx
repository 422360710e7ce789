import { Button, Menu } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { throwLost } from '../api.ts'
import { useFormat } from '../format.ts'
import { useRequestedAction } from '../links.ts'
import { texts, useLanguage, useText } from '../text.ts'
import { type CellWriters, createSpreadsheet } from '../types.ts'
import { ErrorNotice } from './error-notice.tsx'
import { IconOf } from './icons.tsx'

const words = texts({
  en: {
    export: 'Export',
    excel: 'For Excel',
    csv: 'CSV, as the API gives it',
    exporting: (size: string) => `Exporting, ${size}`,
  },
  pt: {
    export: 'Exportar',
    excel: 'Para o Excel',
    csv: 'CSV, como a API entrega',
    exporting: (size: string) => `Exportando, ${size}`,
  },
})

type Convert = (piece: string) => string

/**
 * Saves all records that match the filters as a file, and shows the progress.
 *
 * @param writers for the spreadsheet: by column, a function that writes a code in words
 * @param files the same records in other formats, which the service makes
 */
export function ExportButton({
  name,
  download,
  writers,
  files = [],
}: {
  name: string
  download: () => Promise<Response>
  writers?: CellWriters
  files?: { label: string; href: string }[]
}) {
  const t = useText(words)
  const format = useFormat()
  const { language } = useLanguage()
  const [size, setSize] = useState(0)
  const [isOpen, setOpen] = useState(false)
  useRequestedAction('export', () => setOpen(true))
  const saving = useMutation({
    mutationFn: async (begin: () => Convert) => {
      setSize(0)
      const convert = begin()
      const response = await download()
      const parts: string[] = []
      const decoder = new TextDecoder()
      const reader = response.body?.getReader()
      const read = async () => await reader?.read().catch(throwLost)
      for (let piece = await read(); piece && !piece.done; piece = await read()) {
        const { value } = piece
        parts.push(convert(decoder.decode(value, { stream: true })))
        setSize((before) => before + value.byteLength)
      }
      parts.push(convert(decoder.decode()))
      save(new Blob(parts, { type: 'text/csv' }), `${name}.csv`)
    },
  })
  return (
    <>
      <Menu opened={isOpen} onChange={setOpen} position="bottom-end" withInitialFocusPlaceholder={false}>
        <Menu.Target>
          <Button
            variant="default"
            leftSection={<IconOf name="download" size={16} />}
            disabled={saving.isPending}
            aria-live="polite"
          >
            {saving.isPending ? t.exporting(format.bytes(size)) : t.export}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => saving.mutate(() => createSpreadsheet(language, undefined, writers))}>
            {t.excel}
          </Menu.Item>
          <Menu.Item onClick={() => saving.mutate(() => (piece) => piece)}>{t.csv}</Menu.Item>
          {files.map(({ label, href }) => (
            <Menu.Item key={href} component="a" href={href} download>
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {saving.isError && <ErrorNotice error={saving.error} onRetry={() => saving.mutate(saving.variables)} />}
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
