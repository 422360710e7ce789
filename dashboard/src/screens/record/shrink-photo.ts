/** Enough to read a delivery note in a photo. */
const sideMaxPixels = 2400

/** An image above the limit, such as a phone's photo, becomes a smaller JPEG. Any other file stays as it is. */
export async function shrinkPhoto(file: File, bytesMax: number): Promise<Blob> {
  if (file.size <= bytesMax || !file.type.startsWith('image/')) return file
  try {
    const photo = await createImageBitmap(file)
    const scale = Math.min(1, sideMaxPixels / Math.max(photo.width, photo.height))
    const canvas = document.createElement('canvas')
    canvas.width = Math.round(photo.width * scale)
    canvas.height = Math.round(photo.height * scale)
    canvas.getContext('2d')?.drawImage(photo, 0, 0, canvas.width, canvas.height)
    photo.close()
    const smaller = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/jpeg', 0.85))
    return smaller ?? file
  } catch {
    // The browser cannot read it: the caller reports that it is too large.
    return file
  }
}
