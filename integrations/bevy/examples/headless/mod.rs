//! An app with Bevy's renderer, and without a window.

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::AssetPlugin;
use bevy_bcfsort::SortPlugin;
use bevy_camera::CameraPlugin;
use bevy_diagnostic::{DiagnosticsPlugin, FrameCountPlugin};
use bevy_image::ImagePlugin;
use bevy_mesh::MeshPlugin;
use bevy_render::RenderPlugin;
use bevy_render::settings::RenderCreation;
use bevy_time::TimePlugin;
use bevy_window::{ExitCondition, WindowPlugin};

/// Of `DefaultPlugins`, those that the renderer needs. After `App::finish` and `App::cleanup` there
/// is a device, and `App::update` runs a frame.
pub(crate) fn plugins(render_creation: RenderCreation) -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        TimePlugin,
        FrameCountPlugin,
        DiagnosticsPlugin,
        WindowPlugin {
            primary_window: None,
            primary_cursor_options: None,
            exit_condition: ExitCondition::DontExit,
            close_when_requested: false,
        },
        AssetPlugin::default(),
        ImagePlugin::default(),
        MeshPlugin,
        CameraPlugin,
        RenderPlugin {
            render_creation,
            ..RenderPlugin::default()
        },
        SortPlugin,
    ));
    app
}
