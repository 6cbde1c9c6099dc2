//! What an indirect draw makes of a frame: the picture of the CPU's order, the same each time.

use crate::reference::{How, Random, SEES_ALL, camera, expected, sorter};
use bcfsort_splat::wgpu_bcfsort::wgpu;
use bcfsort_splat::{DepthKey, DrawOrder, Positions, SplatSorter};

/// Width and height of a picture.
const SIDE: u32 = 64;

/// Half-transparent squares of a colour each, which are blended in the order of their instances.
const SHADER: &str = "
@group(0) @binding(0) var<uniform> camera: mat4x4<f32>;
@group(0) @binding(1) var<storage, read> positions: array<f32>;

struct Corner {
    @builtin(position) place: vec4<f32>,
    @location(0) @interpolate(flat) splat: u32,
}

@vertex
fn corner(@builtin(vertex_index) number: u32, @location(0) splat: u32) -> Corner {
    let i = 3u * splat;
    let centre = camera * vec4<f32>(positions[i], positions[i + 1u], positions[i + 2u], 1.0);
    let side = vec2<f32>(vec2<u32>(number & 1u, number >> 1u)) - 0.5;
    return Corner(vec4<f32>(centre.xy / centre.w + 0.3 * side, 0.5, 1.0), splat);
}

@fragment
fn colour(@location(0) @interpolate(flat) splat: u32) -> @location(0) vec4<f32> {
    let mixed = (splat + 1u) * 0x9e3779b9u;
    let bytes = vec3<u32>(mixed >> 8u, mixed >> 16u, mixed >> 24u) & vec3<u32>(255u);
    return vec4<f32>(vec3<f32>(bytes) / 255.0, 0.5);
}
";

struct Painter {
    pipeline: wgpu::RenderPipeline,
    bindings: wgpu::BindGroup,
    texture: wgpu::Texture,
    bytes: wgpu::Buffer,
}

impl Painter {
    fn new(camera: &wgpu::Buffer, positions: &wgpu::Buffer) -> Self {
        let device = sorter().device();
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("picture"),
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let format = wgpu::TextureFormat::Rgba8Unorm;
        let order = wgpu::VertexBufferLayout {
            array_stride: 4,
            step_mode: wgpu::VertexStepMode::Instance,
            attributes: &wgpu::vertex_attr_array![0 => Uint32],
        };
        let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some("picture"),
            layout: None,
            vertex: wgpu::VertexState {
                module: &module,
                entry_point: Some("corner"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                buffers: &[Some(order)],
            },
            primitive: wgpu::PrimitiveState {
                topology: wgpu::PrimitiveTopology::TriangleStrip,
                ..wgpu::PrimitiveState::default()
            },
            depth_stencil: None,
            multisample: wgpu::MultisampleState::default(),
            fragment: Some(wgpu::FragmentState {
                module: &module,
                entry_point: Some("colour"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                targets: &[Some(wgpu::ColorTargetState {
                    format,
                    blend: Some(wgpu::BlendState::ALPHA_BLENDING),
                    write_mask: wgpu::ColorWrites::ALL,
                })],
            }),
            multiview_mask: None,
            cache: None,
        });
        let entries = [camera, positions].map(wgpu::Buffer::as_entire_binding);
        let entries: Vec<_> = (0..)
            .zip(entries)
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
            .collect();
        let bindings = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("picture"),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: SIZE,
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let bytes = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture"),
            size: u64::from(SIDE * SIDE * 4),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        Self {
            pipeline,
            bindings,
            texture,
            bytes,
        }
    }

    /// The bytes of a picture. `sort` is recorded before, and `draw` draws.
    fn paint(
        &self,
        order: &wgpu::Buffer,
        sort: impl FnOnce(&mut wgpu::CommandEncoder),
        draw: impl FnOnce(&mut wgpu::RenderPass<'_>),
    ) -> Vec<u8> {
        let sorter = sorter();
        let mut encoder = sorter.device().create_command_encoder(&<_>::default());
        sort(&mut encoder);
        let view = self.texture.create_view(&<_>::default());
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("picture"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color::BLACK),
                    store: wgpu::StoreOp::Store,
                },
            })],
            depth_stencil_attachment: None,
            timestamp_writes: None,
            occlusion_query_set: None,
            multiview_mask: None,
        });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bindings, &[]);
        pass.set_vertex_buffer(0, order.slice(..));
        draw(&mut pass);
        drop(pass);
        encoder.copy_texture_to_buffer(
            self.texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &self.bytes,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(SIDE * 4),
                    rows_per_image: None,
                },
            },
            SIZE,
        );
        sorter.queue().submit([encoder.finish()]);
        sorter.download(&self.bytes).unwrap()
    }
}

const SIZE: wgpu::Extent3d = wgpu::Extent3d {
    width: SIDE,
    height: SIDE,
    depth_or_array_layers: 1,
};

#[test]
fn a_picture_is_that_of_the_cpus_order_and_the_same_each_time() {
    let (sorter, camera) = (sorter(), camera());
    let matrix = bytemuck::cast_slice(&SEES_ALL);
    sorter.queue().write_buffer(&camera, 0, matrix);
    // Of 2000 splats, many have the same depth, and overlap.
    let positions = Random(5).positions(2000);
    let rows = sorter.upload(&positions).unwrap();
    let strided = Positions::Strided {
        rows: rows.slice(..),
        stride: 12,
        offset: 0,
    };
    let painter = Painter::new(&camera, &rows);
    let mut pictures = Vec::new();
    for order in [DrawOrder::FarToNear, DrawOrder::NearToFar] {
        let how = How::new(DepthKey::Bits32, order);
        let splats = SplatSorter::new(sorter, &how.describe(strided, 2000, &camera)).unwrap();
        let ours = || {
            let record = |encoder: &mut wgpu::CommandEncoder| splats.record(encoder);
            painter.paint(splats.order(), record, |pass| {
                pass.draw_indirect(splats.indirect(), 0);
            })
        };
        let first = ours();
        for _ in 0..5 {
            assert!(ours() == first, "the picture flickers");
        }
        let drawn = expected(&positions, &SEES_ALL, &how);
        let of_cpu = sorter.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some("order"),
            size: drawn.len() as u64 * 4,
            usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let bytes = bytemuck::cast_slice(&drawn);
        sorter.queue().write_buffer(&of_cpu, 0, bytes);
        let wanted = painter.paint(
            &of_cpu,
            |_| {},
            |pass| pass.draw(0..4, 0..drawn.len() as u32),
        );
        assert!(first == wanted, "another picture than the CPU's");
        pictures.push(wanted);
    }
    // The order shows: it is not the picture of any order.
    assert!(pictures[0] != pictures[1]);
    let lit = pictures[0]
        .chunks(4)
        .filter(|pixel| pixel[..3] != [0; 3])
        .count();
    assert!(lit > 1000, "{lit} pixels are lit");
}
